package httpapi

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

const tiny = "apiVersion: dovetail/v1\nname: tiny\ncomponents: [{name: c, command: [x], count: 1, resources: {cpu: 1}}]\n"

func TestSpecCacheShares(t *testing.T) {
	c := newSpecCache(1 << 20)
	first, err := c.read([]byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.read([]byte(tiny)); again != first {
		t.Error("the same text was read twice")
	}
	other, err := c.read([]byte("# the same\n" + tiny))
	if err != nil || other == first || other.digest != first.digest {
		t.Errorf("another text of the same application: %v, want another entry with the same digest", err)
	}
	if _, err := c.read([]byte("name: x")); err == nil || c.order.Len() != 2 {
		t.Errorf("a faulty text: error %v and %d entries, want an error and 2", err, c.order.Len())
	}
}

func TestSpecCacheIsBounded(t *testing.T) {
	c := newSpecCache(1 << 20)
	for i := range maxSpecs + 10 {
		if _, err := c.read(fmt.Appendf(nil, "# %d\n%s", i, tiny)); err != nil {
			t.Fatal(err)
		}
		if i == maxSpecs-1 {
			if _, err := c.read(fmt.Appendf(nil, "# %d\n%s", 0, tiny)); err != nil { // it is used again
				t.Fatal(err)
			}
		}
	}
	if c.order.Len() != maxSpecs || len(c.byText) != maxSpecs {
		t.Errorf("%d entries and %d keys, want %d", c.order.Len(), len(c.byText), maxSpecs)
	}
	c.put(&spec{size: maxSpecBytes})
	if c.order.Len() != 1 || c.bytes != maxSpecBytes {
		t.Errorf("%d entries of %d bytes behind a huge one, want it alone", c.order.Len(), c.bytes)
	}
}

func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mark{rapid.Int64Min(0).Draw(t, "seq"), rapid.OneOf(rapid.Just(whole), rapid.IntRange(0, 1<<40)).Draw(t, "n")}
		if got, ok := parseMark(m.String()); !ok || got != m {
			t.Fatalf("%q became %v %v", m, got, ok)
		}
	})
	for _, s := range []string{"", "x", "-1", "1.", "1.-2", "1.2.3", "99999999999999999999"} {
		if m, ok := parseMark(s); ok {
			t.Errorf("%q was taken for %v", s, m)
		}
	}
}

func TestPosition(t *testing.T) {
	tests := []struct {
		text         string
		offset       int64
		line, column int
	}{
		{"", 0, 1, 1}, {"abc", 2, 1, 2}, {"a\nb", 3, 2, 1}, {"a\n\n", 3, 3, 1}, {"abc", 99, 1, 3}, {"abc", -1, 1, 1},
	}
	for _, tt := range tests {
		if line, column := position([]byte(tt.text), tt.offset); line != tt.line || column != tt.column {
			t.Errorf("%q at %d: %d:%d, want %d:%d", tt.text, tt.offset, line, column, tt.line, tt.column)
		}
	}
}
