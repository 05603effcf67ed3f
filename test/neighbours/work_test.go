package neighbours_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// workArg is the first argument of the program that runs execute; kind and amount follow.
const workArg = "work"

// probe is an amount that takes about half a second of a quiet machine.
func probe() amount { return amount{"cpu": 300, "disk": 400, "memory": 15} }

// work does an amount of work as a process of its own, in the directory of the proof.
func (p *place) work(t *testing.T, kind string, n int) {
	t.Helper()
	cmd := exec.Command(p.worker, workArg, kind, strconv.Itoa(n))
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, out)
	}
}

// workMain is that program. It checks its result.
func workMain(args []string) int {
	err := errors.New("expected a kind and an amount")
	if len(args) == 2 {
		var n int
		if n, err = strconv.Atoi(args[1]); err == nil {
			err = work(args[0], n)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func work(kind string, n int) error {
	switch kind {
	case "cpu":
		return compute(n)
	case "disk":
		return move(n)
	case "memory":
		return stream(n)
	}
	return fmt.Errorf("unknown kind %q", kind)
}

// compute keeps two processors busy and touches no memory: n million steps of a generator (Marsaglia, Xorshift RNGs, 2003) on each.
func compute(n int) error {
	var ends [2]uint64
	var both sync.WaitGroup
	for i := range ends {
		both.Go(func() {
			x := uint64(88172645463325252)
			for range n * 1_000_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			ends[i] = x
		})
	}
	both.Wait()
	if ends[0] != ends[1] || ends[0] == 0 {
		return fmt.Errorf("two equal computations ended in %d and %d", ends[0], ends[1])
	}
	return nil
}

// How move uses a disk: so many streams at once, each over a file of its own.
const (
	streams = 4
	block   = 1 << 20 // bytes
	blocks  = 64      // of a file
)

// move writes and reads n MiB past the cache of the system, from four files at once, and checks what it reads.
func move(n int) error {
	dir, err := os.MkdirTemp(".", "scratch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	errs := make([]error, streams)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = moveFile(filepath.Join(dir, strconv.Itoa(i)), max(1, n/streams)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// moveFile moves n blocks: a file of them is written, synchronised and read, again and again.
func moveFile(path string, n int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC|syscall.O_DIRECT, 0o600)
	if err != nil {
		return fmt.Errorf("%w: the directory must be on a disk, not in memory", err)
	}
	defer f.Close()
	b := aligned(block)
	for done := 0; done < n; {
		round := min(blocks, (n-done+1)/2)
		for i := range round {
			binary.LittleEndian.PutUint64(b, uint64(done+i))
			if _, err := f.WriteAt(b, int64(i)*block); err != nil {
				return err
			}
		}
		if err := f.Sync(); err != nil {
			return err
		}
		for i := range round {
			if _, err := f.ReadAt(b, int64(i)*block); err != nil {
				return err
			}
			if got := binary.LittleEndian.Uint64(b); got != uint64(done+i) {
				return fmt.Errorf("block %d of %s holds %d, %d was written", i, path, got, done+i)
			}
		}
		done += 2 * round
	}
	return nil
}

// aligned returns memory that begins at the multiple of a page, as direct I/O wants it.
func aligned(n int) []byte {
	const page = 4096
	b := make([]byte, n+page)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) % page)
	return b[skip : skip+n]
}

// stream adds arrays that no cache holds, n times over: the triad of McCalpin's STREAM, on one processor, 192 MiB a time.
func stream(n int) error {
	const length = 8 << 20
	a, b, c := make([]float64, length), make([]float64, length), make([]float64, length)
	for i := range b {
		b[i], c[i] = float64(i), 1
	}
	for k := range n {
		for i := range a {
			a[i] = b[i] + float64(k)*c[i]
		}
	}
	for i := range a {
		if want := float64(i + n - 1); a[i] != want {
			return fmt.Errorf("element %d is %g, expected %g", i, a[i], want)
		}
	}
	return nil
}
