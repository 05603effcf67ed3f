package policy

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os" // want "os is not in the list"
	"slices"
	"sync" // want "sync is not in the list"
	"time"

	"github.com/dovetail-sched/dovetail"
)

type table struct {
	rows map[string]int
	n    int
}

func (t *table) grow()    { t.n++ }
func (t table) size() int { return t.n }

var (
	errFine       = errors.New("fine")
	ErrExported   = errors.New("errors may be exported")
	Exported      = []int{1} // want "exported variable Exported"
	uninitialised int        // want "uninitialised without a value"
	mutex         sync.Mutex // want "mutex without a value"
	constant                 = []int{1, 2, 3}
	assigned                 = 1
	counted                  = 1
	indexed                  = []int{1}
	field                    = table{}
	pointed                  = 1
	method                   = table{}
	cleared                  = map[string]int{}
	ranged                   = 1
	readOnly                 = map[string]int{"a": 1}
	_             any        = dovetail.Word("")
)

func init() {} // want "no init"

func state(m map[string]int) int {
	assigned = 2                  // want "assigned is written to"
	counted++                     // want "counted is written to"
	indexed[0] = 1                // want "indexed is written to"
	field.rows["a"]++             // want "field is written to"
	p := &pointed                 // want "pointed is written to"
	method.grow()                 // want "method is written to"
	clear(cleared)                // want "cleared is written to"
	for ranged = range constant { // want "ranged is written to"
	}
	local := table{}
	local.grow()
	local.n = readOnly["a"]
	m["a"] = constant[0]
	return *p + method.size() + len(readOnly) + uninitialised
}

func concurrency() {
	c := make(chan int) // want "no channel"
	go func() {         // want "no goroutine"
		c <- 1 // want "no channel"
	}()
	<-c      // want "no channel"
	select { // want "no channel"
	default:
	}
	mutex.Lock() // want "mutex is written to"
}

func clock(now time.Time) time.Duration {
	_ = time.Now()                    // want "time.Now: floors 0 to 2 have no clock"
	f := time.Since                   // want "time.Since: floors 0 to 2 have no clock"
	_ = time.After(time.Second)       // want "time.After: floors 0 to 2 have no clock"
	_ = now.In(time.Local)            // want "time.Local"
	_ = now.After(now.Add(time.Hour)) // a method of the argument
	return f(now)
}

type index map[string]int

func order(m map[string]int, i index) []string {
	for range m { // want "the order of a map is chance"
	}
	for range m { //dovetail:anyorder counting is the same in any order
	}
	/* want "say with //dovetail:anyorder why" */ for range m { //dovetail:anyorder
	}
	for k := range i { // want "the order of a map is chance"
		_ = k
	}
	for range maps.Keys(m) { // want "maps.Keys: the order of a map is chance"
	}
	keys := slices.Collect(maps.Keys(m)) // want "maps.Keys: the order of a map is chance"
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, k)
	}
	return keys
}

func generic[M ~map[K]V, K comparable, V any](m M) {
	for range m { // want "the order of a map is chance"
	}
}

func chance(seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 1))
	return r.IntN(6) + rand.IntN(6) // want "math/rand/v2.IntN: the generator is global"
}

func output() error {
	fmt.Println(os.Args) // want "fmt.Println: floors 0 to 2 do no I/O"
	return fmt.Errorf("text: %w", errFine)
}
