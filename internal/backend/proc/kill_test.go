package proc

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// The kill test starts a daemon again and again, as a process of its own, and kills it at random points while it starts and
// stops replicas. What the daemon is to do follows from the number of the round alone, as it would from a journal.

// perRound is how many replicas a round starts.
const perRound = 3

// victim is the life of a daemon that will be killed: in round n it stops the replicas of round n−1 and starts those of round n.
func victim(args []string) int {
	dir, root := args[0], args[1]
	round, err := strconv.Atoi(args[2])
	if err != nil {
		return 2
	}
	b, err := New(Options{Dir: dir, Nodes: []dovetail.Node{node("node-1")}, CgroupRoot: root})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	inbox := make(chan dovetail.Event)
	go func() {
		for range inbox {
		}
	}()
	go func() {
		_ = b.Run(context.Background(), inbox, func() {
			fmt.Fprintln(os.Stdout, "observed") // the killer's clock starts
			for i := range perRound {
				b.Start(victimLaunch(dir, round, i))
				if round > 0 {
					b.Stop(victimLaunch(dir, round-1, i).Replica, i == 0)
				}
			}
		})
	}()
	select {}
}

// victimLaunch is one of the replicas of a round: some hold children, some end by themselves, some have a hook.
func victimLaunch(dir string, round, i int) engine.Launch {
	name := filepath.Join(dir, "starts", fmt.Sprintf("%d-%d", round, i))
	script := "echo started >> " + name + "; "
	c := dovetail.Component{Stop: dovetail.Stop{Grace: dovetail.Duration(100 * time.Millisecond)}}
	switch i {
	case 0:
		script += "(trap '' TERM; while :; do sleep 1; done) & exec sleep 1000"
		c.Remove = &dovetail.Remove{Command: []string{"sleep", "0.02"}}
	case 1:
		script += "sleep 0.01; exit 3"
	case 2:
		script += "trap '' TERM; setsid sleep 1000 & while :; do sleep 1; done"
	}
	c.Command = []string{"sh", "-c", script}
	l := launchOf(dovetail.RunID(round*perRound+i+1), c)
	l.Run.ID = l.Replica.Run
	return l
}

// TestKill kills the daemon at random points; the next one must adopt what lives and report what ended, and at the end nothing
// may have run twice, and nothing may be left.
func TestKill(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	for _, root := range []string{"dovetail-test", NoCgroups} {
		t.Run("cgroups "+root, func(t *testing.T) { killRounds(t, root, rounds) })
	}
}

func killRounds(t *testing.T, root string, rounds int) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "starts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		killOnce(t, dir, root, round, time.Duration(random.Int64N(int64(60*time.Millisecond))))
	}
	t.Logf("%d of %d records were written", len(must(os.ReadDir(filepath.Join(dir, "replicas")))), rounds*perRound)

	d := openDaemon(t, dir, root)
	for round := range rounds {
		for i := range perRound {
			r := victimLaunch(dir, round, i).Replica
			d.Stop(r, false)
			down := d.down(t, r)
			started := starts(filepath.Join(dir, "starts", fmt.Sprintf("%d-%d", round, i)))
			switch known := exists(d.recordDir(r)); {
			case started > 1:
				t.Errorf("round %d replica %d: started %d times", round, i, started)
			case started == 1 && !known:
				t.Errorf("round %d replica %d: it ran, and there is no record of it", round, i)
			case known && down.Exit.Lost:
				t.Errorf("round %d replica %d: lost, although its shim was never killed: %+v", round, i, down.Exit)
			case i == 1 && started == 1 && down.Exit.Code != 3 && !down.Exit.Asked:
				t.Errorf("round %d replica %d: exit %+v, expected its own code 3", round, i, down.Exit)
			}
		}
	}
	d.close()
	noOrphans(t, dir)
}

// killOnce lets a daemon run for a while and kills it.
func killOnce(t *testing.T, dir, root string, round int, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "__victim", dir, root, strconv.Itoa(round))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "observed" {
		t.Errorf("round %d: the daemon said %q", round, line)
	}
	<-time.After(after)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}
