//go:build linux

package sqlite_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// smallDisk says that the process is in a mount namespace of its own.
const smallDisk = "DOVETAIL_TEST_SMALL_DISK"

// onSmallDisk runs the test with a file system of 2 MiB, in a child with a mount namespace of its own, so that nothing is left
// mounted whatever happens. A directory without write permission would not do: it does not stop root.
func onSmallDisk(t *testing.T, test func(t *testing.T, dir string)) {
	if os.Getenv(smallDisk) != "" {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
			t.Skipf("cannot mount a small file system here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		test(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), smallDisk+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := child.CombinedOutput()
	switch {
	case len(out) == 0 && err != nil:
		t.Skipf("cannot make a mount namespace here: %v", err)
	case err != nil:
		t.Fatalf("%s", out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
}

// protect makes the directory read-only.
func protect(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

// fill uses up what space is left, and returns a function that gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, dir string) {
		s := open(t, dir)
		turns := storetest.Turns(4)
		for _, c := range turns[:2] {
			if err := s.Append(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		free := fill(t, dir)
		for range 3 {
			err := s.Append(context.Background(), turns[2])
			if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "space") {
				t.Fatalf("Append on a full disk: %v; expected an unavailable error about space", err)
			}
			if n := storetest.Prefix(t, s, turns); n != 2 {
				t.Fatalf("%d turns after an Append that failed; expected 2", n)
			}
		}
		free()
		for _, c := range turns[2:] {
			if err := s.Append(context.Background(), c); err != nil {
				t.Fatalf("Append after space was freed: %v", err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		defer s.Close()
		if n := storetest.Prefix(t, s, turns); n != 4 {
			t.Errorf("%d turns after reopening; expected 4", n)
		}
	})
}

// TestCrashOnFullDisk kills what was writing when the disk was full: the remains of writes that failed must not look like
// lost ones.
func TestCrashOnFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, dir string) {
		s := open(t, dir)
		defer s.Close()
		turns := storetest.Turns(turnsBeforeCrash)
		free := fill(t, dir)
		for range 5 {
			if err := s.Append(context.Background(), turns[0]); err == nil {
				t.Fatal("Append on a full disk succeeded")
			}
		}
		free()
		if err := s.Append(context.Background(), turns[0]); err != nil {
			t.Fatal(err)
		}
		free = fill(t, dir)
		for range 5 {
			_ = s.Append(context.Background(), turns[1])
		}
		free()
		copied, err := sqlite.Open(context.Background(), filesOf(t, dir).put(t), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer copied.Close()
		if n := storetest.Prefix(t, copied, turns); n != 1 {
			t.Errorf("%d turns after the crash; expected 1", n)
		}
	})
}

func TestOpenOnFullDisk(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, dir string) {
		fill(t, dir)
		_, err := sqlite.Open(context.Background(), dir, slog.New(slog.DiscardHandler))
		if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "space") {
			t.Errorf("Open on a full disk: %v; expected an unavailable error about space", err)
		}
		if _, err := sqlite.Lock(dir); dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "space") {
			t.Errorf("Lock on a full disk: %v; expected an unavailable error about space", err)
		}
	})
}

func TestReadOnlyDirectory(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, dir string) {
		if err := open(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		protect(t, dir)
		_, err := sqlite.Open(context.Background(), dir, slog.New(slog.DiscardHandler))
		if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "writable") {
			t.Errorf("Open in a read-only directory: %v; expected an unavailable error that says so", err)
		}
		if _, err := sqlite.Lock(dir); dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "writable") {
			t.Errorf("Lock in a read-only directory: %v; expected an unavailable error that says so", err)
		}
	})
}
