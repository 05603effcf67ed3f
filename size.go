package dovetail

import (
	"fmt"
	"strings"
)

// ParseSize reads an amount of data in bytes: a number with or without a unit (k, M, G, T, P, E of 1000, Ki … Ei of 1024), and a B
// after that or not, such as 24GB, 1.5 TiB or 4096. "KB" is 1000 bytes as "kB" is.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSuffix(strings.TrimSpace(s), "B")
	number := strings.TrimRight(text, "kKMGTPEi ")
	unit := strings.TrimSpace(text[len(number):])
	if unit == "K" {
		unit = "k"
	}
	if number != "" && !strings.HasSuffix(number, "m") { // there are no thousandths of a byte
		if n, err := ParseQuantity(Memory, number+unit); err == nil {
			return n, nil
		}
	}
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return 0, fmt.Errorf("expected a number of bytes, such as 24GB, 1.5TiB or 4096, found %q", s)
}
