package dovetail_test

import (
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

func TestParseSize(t *testing.T) {
	for _, test := range []struct {
		text, reason string
		want         int64
	}{
		{"4096", "bytes", 4096},
		{"24GB", "decimal unit", 24e9},
		{" 24 GB ", "space", 24e9},
		{"24G", "the B is optional", 24e9},
		{"1.5TiB", "binary unit, fraction", 3 << 39},
		{"64Mi", "as memory is written", 64 << 20},
		{"10kB", "kilo", 10e3},
		{"10KB", "kilo as many write it", 10e3},
		{"10KiB", "kibi", 10 << 10},
		{"7B", "bytes with a B", 7},
		{"0", "nothing", 0},
	} {
		if got, err := dovetail.ParseSize(test.text); got != test.want || err != nil {
			t.Errorf("%s: %q is %d (%v); expected %d", test.reason, test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "GB", "-1", "1e9", "24 gigabytes", "5m", "0.5", "1.2.3", "99999999EiB", "2 4GB", "24GB/s", strings.Repeat("9", 100)} {
		if got, err := dovetail.ParseSize(text); err == nil {
			t.Errorf("%q is read as %d; expected an error", text, got)
		}
	}
}
