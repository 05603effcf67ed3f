package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// The second stage inherits two pipes: from the first it reads its order, which is also the word to go; into the second it
// writes why it could not become the command. That one closes when the command runs.
const (
	goFD   = 3
	failFD = 4
)

// order is what the second stage has to become.
type order struct {
	Path  string   `json:"path"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Group group    `json:"group"`
}

// stage is a child in its second stage, seen from the shim.
type stage struct {
	pid    int
	goPipe *os.File
	failed *os.File
}

// spawnStageTwo starts the child that will become the command.
func (g *guardian) spawnStageTwo(output []*os.File) (*stage, error) {
	goR, goW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer goR.Close()
	failR, failW, err := os.Pipe()
	if err != nil {
		goW.Close()
		return nil, err
	}
	defer failW.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pid, err := startProcess("/proc/self/exe", []string{os.Args[0], os.Args[1], stageTwo}, &os.ProcAttr{
		Dir:   g.spec.WorkDir,
		Env:   g.spec.Env,
		Files: []*os.File{null, output[0], output[1], goR, failW},
		Sys:   &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		goW.Close()
		failR.Close()
		return nil, err
	}
	return &stage{pid: pid, goPipe: goW, failed: failR}, nil
}

// release lets the child become the command, and waits until it has. The error says why it has not.
func (s *stage) release(o order) error {
	defer s.failed.Close()
	err := json.NewEncoder(s.goPipe).Encode(o)
	s.goPipe.Close()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(s.failed)
	if err != nil || len(text) == 0 {
		return err
	}
	code, message, _ := strings.Cut(string(text), " ")
	if n, err := strconv.Atoi(code); err == nil && n > 0 {
		return unix.Errno(n)
	}
	return errors.New(message)
}

// abandon lets the child end without becoming the command.
func (s *stage) abandon() {
	s.goPipe.Close()
	s.failed.Close()
	waitFor(s.pid, 0)
}

// become is the second stage: wait for the order, join the group, run the command.
func become() int {
	unix.CloseOnExec(goFD)
	unix.CloseOnExec(failFD)
	var o order
	if err := json.NewDecoder(os.NewFile(goFD, "go")).Decode(&o); err != nil {
		return 126 // the shim is gone: nobody would write down how the command ends
	}
	failed := os.NewFile(failFD, "failed")
	if err := o.Group.join(); err != nil {
		fmt.Fprintf(failed, "0 %v", err)
		return 126
	}
	err := unix.Exec(o.Path, o.Argv, o.Env)
	var code unix.Errno
	errors.As(err, &code)
	fmt.Fprintf(failed, "%d %v", int(code), err)
	return 126
}

// findCommand looks a command up as a shell would: in the replica's own PATH, or, if the name has a slash, relative to its
// working directory. If there is none that can be run, it returns the exit a shell would report.
func findCommand(name, dir string, env []string) (string, *dovetail.Exit) {
	var places []string
	if strings.Contains(name, "/") {
		places = []string{absolute(name, dir)}
	} else {
		for d := range strings.SplitSeq(lookEnv(env, "PATH"), ":") {
			places = append(places, filepath.Join(absolute(d, dir), name))
		}
	}
	exit := &dovetail.Exit{Code: 127, Why: fmt.Sprintf("command not found: %s", name)}
	for _, path := range places {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrPermission) || err == nil && (info.IsDir() || info.Mode()&0o111 == 0):
			exit = &dovetail.Exit{Code: 126, Why: fmt.Sprintf("permission denied: %s is not an executable file", path)}
		case err == nil:
			return path, nil
		}
	}
	if exit.Code == 127 && !strings.Contains(name, "/") {
		exit.Why += " (not in PATH " + lookEnv(env, "PATH") + ")"
	}
	return "", exit
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// lookEnv returns the value of a variable in a list of NAME=value.
func lookEnv(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// death is the end of one process that the shim waited for.
type death struct {
	pid           int
	status        unix.WaitStatus
	cpu           time.Duration // with the children it waited for
	rss           int64         // bytes, the most
	read, written int64         // bytes, with the children it waited for
}

// reapAll waits for all children, and reports each; it closes the channel when there are none left. It looks at a process
// before it lets it go, since its I/O counters vanish with it.
func reapAll(deaths chan<- death) {
	defer close(deaths)
	for {
		var info childInfo
		//nolint:gosec // G103: x/sys/unix names no field of siginfo_t that holds the pid
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // ECHILD
		}
		d := death{pid: int(info.pid)}
		d.read, d.written = readIO(d.pid)
		var used unix.Rusage
		if got, err := unix.Wait4(d.pid, &d.status, 0, &used); err != nil || got != d.pid {
			continue
		}
		d.cpu = time.Duration(used.Utime.Nano() + used.Stime.Nano())
		d.rss = used.Maxrss * 1024
		deaths <- d
	}
}

// childInfo is the siginfo_t that waitid fills, on 64-bit machines.
type childInfo struct {
	_   [4]int32 // signo, errno, code, padding
	pid int32
	_   [27]int32
}
