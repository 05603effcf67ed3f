package dovetail

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ResourceKind numbers the dimensions of Resources, in the order in which they are always visited.
type ResourceKind int

// The kinds of resources and their units.
const (
	CPU          ResourceKind = iota // millicores
	Memory                           // bytes
	GPU                              // devices
	Disk                             // bytes
	NumResources                     // the number of kinds
)

var resourceNames = [NumResources]string{"cpu", "memory", "gpu", "disk"}

// String returns the name a description uses for the kind: cpu, memory, gpu or disk.
func (k ResourceKind) String() string { return resourceNames[k] }

// Resources is a vector of quantities, one a kind, in the units of ResourceKind. Vectors are comparable with ==.
type Resources [NumResources]int64

// Plus returns r + o.
func (r Resources) Plus(o Resources) Resources {
	for k := range r {
		r[k] += o[k]
	}
	return r
}

// Minus returns r − o; entries may become negative.
func (r Resources) Minus(o Resources) Resources {
	for k := range r {
		r[k] -= o[k]
	}
	return r
}

// Times returns n × r.
func (r Resources) Times(n int) Resources {
	for k := range r {
		r[k] *= int64(n)
	}
	return r
}

// Fits reports whether r ≤ room in every kind that r asks for. A kind that r does not ask for never hinders it.
func (r Resources) Fits(room Resources) bool {
	for k := range r {
		if r[k] > 0 && r[k] > room[k] {
			return false
		}
	}
	return true
}

// Count returns how many copies of r fit into room, at most limit. A zero vector fits limit times.
func (r Resources) Count(room Resources, limit int) int {
	for k := range r {
		if r[k] <= 0 {
			continue
		}
		if room[k] < r[k] {
			return min(limit, 0)
		}
		if n := room[k] / r[k]; n < int64(limit) {
			limit = int(n)
		}
	}
	return limit
}

// Max returns the larger of r and o in every kind.
func (r Resources) Max(o Resources) Resources {
	for k := range r {
		r[k] = max(r[k], o[k])
	}
	return r
}

// IsZero reports whether every entry is zero.
func (r Resources) IsZero() bool { return r == Resources{} }

// String writes the entries that are not zero as a description would: "500m cpu, 256Mi memory".
func (r Resources) String() string {
	var parts []string
	for k := range NumResources {
		if r[k] != 0 {
			parts = append(parts, FormatQuantity(k, r[k])+" "+k.String())
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON writes {"cpu":"500m","memory":"256Mi"}, without the kinds that are zero.
func (r Resources) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for k := range NumResources {
		if r[k] == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%q", k.String(), FormatQuantity(k, r[k]))
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes; quantities may be strings or numbers.
func (r *Resources) UnmarshalJSON(data []byte) error {
	var m map[string]any
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return err
	}
	*r = Resources{}
	for k := range NumResources {
		v, ok := m[k.String()]
		if !ok {
			continue
		}
		delete(m, k.String())
		n, err := ParseQuantity(k, fmt.Sprint(v))
		if err != nil {
			return err
		}
		r[k] = n
	}
	if len(m) > 0 {
		return fmt.Errorf("unknown kind of resource; expected cpu, memory, gpu or disk")
	}
	return nil
}

var binarySuffixes = []struct {
	suffix string
	factor int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50}, {"Ei", 1 << 60},
}

var decimalSuffixes = []struct {
	suffix string
	factor int64
}{
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
}

// ParseQuantity reads a quantity as Kubernetes writes it ("500m", "2", "1.5", "256Mi", "2G") in the unit of kind k:
// millicores for cpu, whole units otherwise. It fails on a sign, an unknown unit, a value that is not a whole number of
// units, and one that does not fit.
func ParseQuantity(k ResourceKind, s string) (int64, error) {
	bad := func(why string) (int64, error) {
		return 0, fmt.Errorf("%s quantity %q: %s", k, s, why)
	}
	number, factor, milli := s, int64(1), false
	switch {
	case s == "":
		return bad("expected a number such as 500m, 2 or 256Mi")
	case strings.HasSuffix(s, "m"):
		number, milli = strings.TrimSuffix(s, "m"), true
	default:
		for _, u := range append(binarySuffixes, decimalSuffixes...) {
			if strings.HasSuffix(s, u.suffix) {
				number, factor = strings.TrimSuffix(s, u.suffix), u.factor
				break
			}
		}
	}
	if strings.HasPrefix(number, "-") {
		return bad("must not be negative")
	}
	if len(number) == 0 || len(number) > 40 || strings.Trim(number, "0123456789.") != "" || strings.Count(number, ".") > 1 || number == "." {
		return bad("expected a number with an optional unit: m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei")
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok {
		return bad("expected a number")
	}
	v.Mul(v, new(big.Rat).SetInt64(factor))
	if k == CPU {
		v.Mul(v, big.NewRat(1000, 1))
	}
	if milli {
		v.Mul(v, big.NewRat(1, 1000))
	}
	if !v.IsInt() {
		return bad("is not a whole number of " + map[bool]string{true: "millicores", false: "units"}[k == CPU])
	}
	if !v.Num().IsInt64() || v.Num().Int64() > math.MaxInt64/1024 {
		return bad("is too large")
	}
	return v.Num().Int64(), nil
}

// FormatQuantity writes n units of kind k in the shortest exact form that ParseQuantity reads.
func FormatQuantity(k ResourceKind, n int64) string {
	switch {
	case k == CPU && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10)
	case k == CPU:
		return strconv.FormatInt(n, 10) + "m"
	case k == GPU:
		return strconv.FormatInt(n, 10)
	}
	for i := len(binarySuffixes) - 1; i >= 0; i-- {
		if u := binarySuffixes[i]; n != 0 && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}
