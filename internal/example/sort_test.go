package example

import (
	"os"
	"strings"
	"testing"
)

// TestSortNoticesDamage: what is wrong with the files on disk is an error, not another order.
func TestSortNoticesDamage(t *testing.T) {
	for _, c := range []struct {
		reason string
		round  int // before which the damage is done
		damage func(j *sorting) error
		want   string
	}{
		{"a run that was cut off", 1, func(j *sorting) error { return os.Truncate(j.runFile(3), 1000) }, "part 3"},
		{"a part that is gone", 1, func(j *sorting) error { return os.Remove(j.runFile(3)) }, "part-3"},
		{"runs of another part", 1, func(j *sorting) error { return os.Rename(j.runFile(4), j.runFile(3)) }, "part"},
		{"a range in the place of another", 2, func(j *sorting) error { return os.Rename(j.sortedFile(2), j.sortedFile(1)) }, "out of order"},
		{"a sorted range that was cut off", 2, func(j *sorting) error { return os.Truncate(j.sortedFile(1), 1000) }, "range 1"},
	} {
		j := newSorting(testSpec(t, "sort", 1)).(*sorting)
		for n := range c.round {
			if err := doRound(j, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.damage(j); err != nil {
			t.Fatal(err)
		}
		err := doRound(j, c.round)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected an error that names %q", c.reason, err, c.want)
		}
	}
}
