package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// lockingChild makes the test binary lock the directory that it names, say so, and wait for the end of its input.
const lockingChild = "DOVETAIL_TEST_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockingChild); dir != "" {
		if _, err := sqlite.Lock(dir); err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, "locked")
		bufio.NewScanner(os.Stdin).Scan()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLockNamesTheOtherProcess(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), lockingChild+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process said %q", line)
	}

	_, err = sqlite.Lock(dir)
	if dovetail.CodeOf(err) != dovetail.Conflict || err == nil {
		t.Fatalf("Lock while another process has it: %v; expected a conflict", err)
	}
	for _, part := range []string{dir, fmt.Sprintf("process %d", child.Process.Pid), fmt.Sprintf("kill %d", child.Process.Pid), "--state-dir"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}

	// The file outlives a process that is killed, the lock does not.
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	release, err := sqlite.Lock(dir)
	if err != nil {
		t.Fatalf("Lock after the other process died: %v", err)
	}
	release()
}

func TestLockWithinOneProcess(t *testing.T) {
	dir := t.TempDir()
	release, err := sqlite.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Lock(dir); dovetail.CodeOf(err) != dovetail.Conflict || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second Lock: %v; expected a conflict that names this process", err)
	}
	release()
	release, err = sqlite.Lock(dir)
	if err != nil {
		t.Fatalf("Lock after release: %v", err)
	}
	release()
}

func TestLockOfWhatIsNotThere(t *testing.T) {
	if _, err := sqlite.Lock(filepath.Join(t.TempDir(), "missing")); dovetail.CodeOf(err) != dovetail.NotFound {
		t.Errorf("Lock of a missing directory: %v; expected not found", err)
	}
}
