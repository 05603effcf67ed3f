package alloc

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

type kind struct {
	name string
	rank func(now time.Time) int
}

var kinds = []kind{{"unix", func(now time.Time) int { return int(now.Unix()) }}}

func find(w dovetail.Word) (kind, bool) {
	for _, k := range kinds {
		if k.name == string(w) {
			return k, true
		}
	}
	return kinds[slices.Index([]int{0}, 0)], false
}
