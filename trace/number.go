package trace

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that a trace may have: sums of a few such times fit into a time.Duration.
const longest = 100 * 365 * 24 * time.Hour

// What fields hold, for messages.
const (
	wantSeconds = "seconds, such as 12.5"
	wantCount   = "a whole number, such as 4"
	wantCPU     = "processors, such as 0.5"
	wantMemory  = "gigabytes, such as 1.5"
)

// fault is what is wrong with a field of a line.
type fault struct{ field, message string }

func (f *fault) Error() string { return fmt.Sprintf("field %q: %s", f.field, f.message) }

// faultf returns a fault of a field.
func faultf(field, format string, args ...any) error {
	return &fault{field, fmt.Sprintf(format, args...)}
}

// shown returns a field as a message shows it: short, and in quotes.
func shown(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

// decimal reads a number such as "12.5" or "-3e-2" as a multiple of 10^-scale, rounded half away from zero. All digits count:
// no float64 is in between. Exact says that nothing was rounded, ok that the text is a number and its multiple an int64.
func decimal(text []byte, scale int) (n int64, exact, ok bool) {
	s := text
	negative := len(s) > 0 && s[0] == '-'
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	mantissa, power := s, 0
	for i, c := range s {
		if c == 'e' || c == 'E' {
			p, err := strconv.ParseInt(string(s[i+1:]), 10, 16)
			if err != nil {
				return 0, false, false
			}
			mantissa, power = s[:i], int(p)
			break
		}
	}
	kept := power + scale // digits before this position, counted from the point, are kept
	digits, point := 0, -1
	for i, c := range mantissa {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false, false
		}
	}
	if digits == 0 {
		return 0, false, false
	}
	if point < 0 {
		point = len(mantissa)
	}
	n, exact, ok = scaled(mantissa, kept+point)
	if negative {
		n = -n
	}
	return n, exact, ok
}

// scaled returns the number of the first digits of a mantissa, whose point is passed over, rounded by the digits that follow
// and followed by zeros if there are too few.
func scaled(mantissa []byte, digits int) (n int64, exact, ok bool) {
	exact = true
	i := 0
	for _, c := range mantissa {
		if c == '.' {
			continue
		}
		d := int64(c - '0')
		switch {
		case i < digits:
			if n > (math.MaxInt64-d)/10 {
				return 0, false, false
			}
			n = 10*n + d
		case d != 0:
			exact = false
			if i == digits && d >= 5 && n < math.MaxInt64 {
				n++
			}
		}
		i++
	}
	for ; i < digits && n != 0; i++ {
		if n > math.MaxInt64/10 {
			return 0, false, false
		}
		n *= 10
	}
	return n, exact, true
}

// seconds reads a time that is not negative, in seconds, to the nearest microsecond.
func seconds(field string, text []byte) (time.Duration, error) {
	us, _, ok := decimal(text, 6)
	switch {
	case !ok && !isNumber(text):
		return 0, faultf(field, "%s is not a number; expected %s", shown(text), wantSeconds)
	case us < 0:
		return 0, faultf(field, "%s is negative; expected %s", shown(text), wantSeconds)
	case !ok || us > longest.Microseconds():
		return 0, faultf(field, "%s is too long; expected at most 100 years of %s", shown(text), wantSeconds)
	}
	return time.Duration(us) * time.Microsecond, nil
}

// positive reads a time of at least a microsecond, in seconds.
func positive(field string, text []byte) (time.Duration, error) {
	d, err := seconds(field, text)
	if err == nil && d == 0 {
		return 0, faultf(field, "%s is less than a microsecond; expected %s", shown(text), wantSeconds)
	}
	return d, err
}

// isNumber reports whether a text is a finite number, however large.
func isNumber(text []byte) bool {
	if len(text) == 0 || strings.Trim(string(text), "+-.0123456789eE") != "" {
		return false
	}
	_, _, ok := decimal(text, 0)
	if ok {
		return true
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil || strings.HasSuffix(err.Error(), "range")
}

// count reads a whole number between low and high.
func count(field string, text []byte, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil && !isNumber(text):
		return 0, faultf(field, "%s is not a number; expected %s", shown(text), wantCount)
	case err != nil && strings.ContainsAny(string(text), ".eE"):
		return 0, faultf(field, "%s is not a whole number; expected %s", shown(text), wantCount)
	case err != nil || n < low || n > high:
		return 0, faultf(field, "%s is out of range; expected a whole number between %d and %d", shown(text), low, high)
	}
	return n, nil
}

// millicores reads a number of processors, which must be a whole number of millicores.
func millicores(field string, text []byte) (int64, error) {
	n, exact, ok := decimal(text, 3)
	switch {
	case !ok && !isNumber(text):
		return 0, faultf(field, "%s is not a number; expected %s", shown(text), wantCPU)
	case n < 0:
		return 0, faultf(field, "%s is negative; expected %s", shown(text), wantCPU)
	case !ok || n > maxAmount:
		return 0, faultf(field, "%s is too large; expected %s", shown(text), wantCPU)
	case !exact:
		return 0, faultf(field, "%s is not a whole number of millicores; expected at most three decimals, such as 0.125", shown(text))
	}
	return n, nil
}

// maxID is the largest number of a job.
const maxID = math.MaxInt64

// maxAmount is the largest quantity of one replica, as dovetail.ParseQuantity has it.
const maxAmount = math.MaxInt64 / 1024

// gibibytes reads a number of gibibytes as bytes, to the nearest byte.
func gibibytes(field string, text []byte) (int64, error) {
	n, _, ok := decimal(text, memoryScale)
	switch {
	case !ok && !isNumber(text):
		return 0, faultf(field, "%s is not a number; expected %s", shown(text), wantMemory)
	case n < 0:
		return 0, faultf(field, "%s is negative; expected %s", shown(text), wantMemory)
	}
	hi, lo := bits.Mul64(uint64(n), 1<<30)
	lo, carry := bits.Add64(lo, memoryUnit/2, 0)
	hi += carry
	if !ok || hi >= memoryUnit {
		return 0, faultf(field, "%s is too large; expected %s", shown(text), wantMemory)
	}
	bytes, _ := bits.Div64(hi, lo, memoryUnit)
	if bytes > maxAmount {
		return 0, faultf(field, "%s is too large; expected %s", shown(text), wantMemory)
	}
	return int64(bytes), nil
}

// Memory is read in steps of 10^-12 GiB, far less than a byte.
const (
	memoryScale = 12
	memoryUnit  = 1_000_000_000_000
)

// appendSeconds writes a time in seconds, with as many of six decimals as it needs.
func appendSeconds(b []byte, d time.Duration) []byte {
	us := d.Microseconds()
	b = strconv.AppendInt(b, us/1e6, 10)
	return appendFraction(b, us%1e6, 6)
}

// appendGibibytes writes bytes in gibibytes, so that gibibytes reads exactly them.
func appendGibibytes(b []byte, bytes int64) []byte {
	b = strconv.AppendInt(b, bytes>>30, 10)
	hi, lo := bits.Mul64(uint64(bytes&(1<<30-1)), memoryUnit)
	lo, carry := bits.Add64(lo, 1<<29, 0)
	n, _ := bits.Div64(hi+carry, lo, 1<<30)
	return appendFraction(b, int64(n), memoryScale)
}

// appendFraction writes a point and digits of n/10^digits, without zeros at the end.
func appendFraction(b []byte, n int64, digits int) []byte {
	if n == 0 {
		return b
	}
	s := strconv.FormatInt(n, 10)
	b = append(b, '.')
	b = append(b, strings.Repeat("0", digits-len(s))...)
	return append(b, strings.TrimRight(s, "0")...)
}
