package crash_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// script is what every replica runs: sh replica.sh VERB ARGUMENTS. It tells the ledger when it starts and stops. A lock that
// the kernel takes from it when the last process of the replica is gone shows whether two replicas with the same run,
// component and index lived at once. A replica that is stopped while it ends still writes one line only.
const script = `name=${DOVETAIL_REPLICA#*/}
slot=${name%-*}
exec 9>>"$CRASH_DIR/locks/$slot"
flock -n 9 || echo "double $name" >>"$CRASH_DIR/ledger"
echo "start $name $$" >>"$CRASH_DIR/ledger"
trap 'trap "" TERM; echo "stop $name term $$" >>"$CRASH_DIR/ledger"; exit 143' TERM
end() { trap "" TERM; echo "stop $name $1 $$" >>"$CRASH_DIR/ledger"; exit "$1"; }
case $1 in
work) sleep "$2"; end 0 ;;
fail) sleep "$2"; end 3 ;;
flaky) sleep "$2"; if mkdir "$CRASH_DIR/flaky-$slot" 2>/dev/null; then end 7; fi; end 0 ;;
serve) sleep "$2"; echo ready; sleep 300 & wait; end 9 ;;
esac
end 99
`

// nodes is the cluster: nine slots of half a core, whatever the machine has.
const nodes = `nodes:
  - {name: a, capacity: {cpu: 1500m, memory: 4Gi}}
  - {name: b, capacity: {cpu: 1500m, memory: 4Gi}}
  - {name: c, capacity: {cpu: 1500m, memory: 4Gi}}
`

// job is one run of the workload and what must become of it.
type job struct {
	key     string
	kind    string
	spec    string
	hold    bool             // submitted on hold, then released
	cancel  bool             // cancelled after it was accepted
	outcome dovetail.Outcome // the only one it may have
	deaths  int              // core replicas that must have been started besides the core itself
	run     dovetail.RunID   // once it was accepted
}

// makeJob returns the nth job of the workload with this seed.
func makeJob(seed uint64, n int, dir string) *job {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	kinds := []func(*rand.Rand, string) *job{elastic, elastic, ordered, ordered, failing, flaky, cancelled, late, held}
	j := kinds[r.IntN(len(kinds))](r, dir)
	j.key = fmt.Sprintf("crash-%d-%d", seed, n)
	return j
}

// elastic works with as many replicas as it is given, and is done when its core is.
func elastic(r *rand.Rand, dir string) *job {
	return &job{kind: "elastic", outcome: dovetail.OutcomeSucceeded, spec: describe(dir, "elastic", "",
		component{name: "worker", verb: "work", arg: seconds(r, 0.1, 0.6), count: 1 + r.IntN(2), max: 4})}
}

// ordered has a service, elastic workers that need it, and a driver whose end ends the run.
func ordered(r *rand.Rand, dir string) *job {
	return &job{kind: "ordered", outcome: dovetail.OutcomeSucceeded, spec: describe(dir, "ordered", "",
		component{name: "master", verb: "serve", arg: seconds(r, 0, 0.1), count: 1, ready: true},
		component{name: "worker", verb: "serve", arg: seconds(r, 0, 0.1), count: 1, max: 4, after: "master", ready: true, retire: true},
		component{name: "driver", verb: "work", arg: seconds(r, 0.1, 0.5), count: 1, after: "worker", ends: true})}
}

// failing dies more often than it may.
func failing(r *rand.Rand, dir string) *job {
	retries := r.IntN(3)
	return &job{kind: "failing", outcome: dovetail.OutcomeFailed, deaths: retries, spec: describe(dir, "failing", "",
		component{name: "worker", verb: "fail", arg: seconds(r, 0, 0.2), count: 1, retries: retries})}
}

// flaky dies once and may.
func flaky(r *rand.Rand, dir string) *job {
	return &job{kind: "flaky", outcome: dovetail.OutcomeSucceeded, deaths: 1, spec: describe(dir, "flaky", "",
		component{name: "worker", verb: "flaky", arg: seconds(r, 0, 0.2), count: 1, retries: 1})}
}

// cancelled would never end.
func cancelled(r *rand.Rand, dir string) *job {
	return &job{kind: "cancelled", cancel: true, outcome: dovetail.OutcomeCancelled, spec: describe(dir, "cancelled", "",
		component{name: "worker", verb: "serve", arg: seconds(r, 0, 0.2), count: 1, max: 3})}
}

// late would never end, and has a maximum runtime.
func late(r *rand.Rand, dir string) *job {
	return &job{kind: "late", outcome: dovetail.OutcomeTimedOut, spec: describe(dir, "late", "maxRuntime: "+seconds(r, 0.2, 0.6)+"s\n",
		component{name: "worker", verb: "serve", arg: "0", count: 1, max: 2})}
}

// held is elastic, but waits until it is released.
func held(r *rand.Rand, dir string) *job {
	j := elastic(r, dir)
	j.kind, j.hold = "held", true
	return j
}

func seconds(r *rand.Rand, low, high float64) string {
	return fmt.Sprintf("%.2f", low+r.Float64()*(high-low))
}

type component struct {
	name, verb, arg     string
	count, max, retries int
	after               string
	ready, ends, retire bool
}

// describe writes a description of an application.
func describe(dir, name, head string, components ...component) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: dovetail/v1\nname: %s\n%scomponents:\n", name, head)
	for _, c := range components {
		fmt.Fprintf(&b, "  - name: %s\n    command: [sh, %q, %s, %q]\n", c.name, filepath.Join(dir, "replica.sh"), c.verb, c.arg)
		fmt.Fprintf(&b, "    env: {CRASH_DIR: %q}\n    resources: {cpu: 500m, memory: 64Mi}\n", dir)
		fmt.Fprintf(&b, "    count: %d\n    max: %d\n    restart: {retries: %d}\n", c.count, max(c.count, c.max), c.retries)
		if c.after != "" {
			fmt.Fprintf(&b, "    after: [%s]\n", c.after)
		}
		if c.ready {
			b.WriteString("    ready: {log: \"^ready$\"}\n")
		}
		if c.ends {
			b.WriteString("    ends: run\n")
		}
		if c.retire {
			b.WriteString("    remove: {command: [sh, -c, \"sleep 0.05\"], grace: 5s}\n")
		}
	}
	return b.String()
}
