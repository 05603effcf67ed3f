package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// TestOutputProperty writes a stream in pieces of any size and reads it from anywhere: what is read is what was written at that
// offset, whatever was rotated away, and no more is kept than was asked for.
func TestOutputProperty(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		size := rapid.Int64Range(1, 64).Draw(t, "bytes")
		files := rapid.IntRange(2, 5).Draw(t, "files")
		var all []byte
		o := must(newOutput(dir, "stdout", size, files))
		for _, piece := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 200), 0, 10).Draw(t, "pieces") {
			if k, err := o.Write(piece); k != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d: %v", k, len(piece), err)
			}
			all = append(all, piece...)
			if rapid.Bool().Draw(t, "reopen") {
				o.file.Close()
				o = must(newOutput(dir, "stdout", size, files))
			}
		}
		o.file.Close()
		kept := must(segments(dir, "stdout"))
		if len(kept) > files {
			t.Fatalf("%d files are kept, expected at most %d", len(kept), files)
		}
		oldest := int(kept[0].start)
		if held := len(all) - oldest; held > int(size)*files || (oldest > 0 && held <= int(size)*(files-1)-1) {
			t.Fatalf("%d bytes are kept of %d; %d files of %d bytes may hold more or less", held, len(all), files, size)
		}
		from := rapid.IntRange(0, len(all)+5).Draw(t, "from")
		limit := rapid.Int64Range(1, 300).Draw(t, "limit")
		l := &logReader{ctx: context.Background(), dir: dir, stream: "stdout", offset: int64(from), left: limit, closed: make(chan struct{}), over: make(chan struct{})}
		got := must(io.ReadAll(l))
		_ = l.Close()
		begin := min(max(from, oldest), len(all))
		want := all[begin:min(begin+int(limit), len(all))]
		if !bytes.Equal(got, want) {
			t.Fatalf("read from %d (limit %d, oldest %d): %q, expected %q", from, limit, oldest, got, want)
		}
	})
}

// TestOutputOnFullDisk closes the file under the writer: the replica must not notice, and the loss is counted.
func TestOutputOnFullDisk(t *testing.T) {
	o := must(newOutput(t.TempDir(), "stdout", 100, 2))
	o.file.Close()
	if n, err := o.Write([]byte("hello")); n != 5 || err != nil {
		t.Errorf("Write: %d, %v; a writer must never fail", n, err)
	}
	if o.lost != 5 {
		t.Errorf("%d bytes lost, expected 5", o.lost)
	}
}

// TestEndOnFullDisk lets exit.json be impossible to write when a replica ends: its shim, the only one who knows how it ended,
// must go on until it has written it down, with the time of the end. If the record is gone, nobody wants to know.
func TestEndOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		inTheWay := filepath.Join(dir, exitFile, "x") // a directory cannot be replaced by a file
		if err := os.MkdirAll(inTheWay, 0o755); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		done := make(chan error, 1)
		go func() { done <- (&guardian{dir: dir}).conclude(dovetail.Exit{Code: 7}, true) }()
		synctest.Wait() // it waits for its next attempt
		if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error("the shim gave up:", err)
		}
		if end, ok, err := readJSON[ended](filepath.Join(dir, exitFile)); !ok || err != nil || end.Exit.Code != 7 || !end.At.Equal(at) {
			t.Errorf("written down: %+v %v %v, expected exit code 7 at %v", end, ok, err, at)
		}
		if err := (&guardian{dir: filepath.Join(dir, "gone")}).conclude(dovetail.Exit{}, true); err == nil {
			t.Error("the end was written down in a record that is gone")
		}
	})
}

// TestEndOnSlowDisk lets the last output take longer to store than a silent pipe is waited for.
func TestEndOnSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := must(newOutput(t.TempDir(), "stdout", 100, 2))
		defer o.file.Close()
		g := &guardian{outs: []*output{o}, drained: make(chan struct{})}
		done := make(chan struct{})
		began := time.Now()
		wait := func() { g.awaitOutput(); done <- struct{}{} }
		o.mu.Lock() // as Write does
		go wait()
		select {
		case <-done:
			t.Errorf("the shim gave up output that was being stored, after %v", time.Since(began))
		case <-time.After(5 * outputIdle):
			g.drained <- struct{}{}
			<-done
		}
		o.mu.Unlock()

		began = time.Now()
		go wait()
		<-done
		if took := time.Since(began); took < outputIdle || took > 2*outputIdle {
			t.Errorf("a pipe that somebody else keeps open was waited for during %v", took)
		}
	})
}

func TestLog(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test", func(o *Options) { o.LogBytes, o.LogFiles = 100, 3 })
	r := d.start(shell("printf 0123456789; echo problem >&2"))
	d.down(t, r)
	for _, test := range []struct {
		reason      string
		stream      string
		from, limit int64
		want        string
	}{
		{"all of it", "stdout", 0, 0, "0123456789"},
		{"the other stream", "stderr", 0, 0, "problem\n"},
		{"from an offset", "stdout", 7, 0, "789"},
		{"counted from the end", "stdout", -4, 0, "6789"},
		{"more than there is, from the end", "stdout", -400, 0, "0123456789"},
		{"a part", "stdout", 2, 3, "234"},
		{"behind the end", "stdout", 70, 0, ""},
	} {
		for _, follow := range []bool{false, true} { // it ended: there is nothing to wait for
			l, err := d.Log(t.Context(), r, test.stream, test.from, test.limit, follow)
			if err != nil {
				t.Fatal(err)
			}
			if got := must(io.ReadAll(l)); string(got) != test.want {
				t.Errorf("%s (follow %v): %q, expected %q", test.reason, follow, got, test.want)
			}
			l.Close()
		}
	}
	for _, test := range []struct {
		reason, stream string
		replica        dovetail.Replica
		code           dovetail.ErrorCode
	}{
		{"a path is no stream", "../../../etc/passwd", r, dovetail.Invalid},
		{"no name is no stream", "", r, dovetail.Invalid},
		{"a replica that never was", "stdout", dovetail.Replica{Run: 99}, dovetail.NotFound},
	} {
		if _, err := d.Log(t.Context(), test.replica, test.stream, 0, 0, false); dovetail.CodeOf(err) != test.code {
			t.Errorf("%s: %v, expected %s", test.reason, err, test.code)
		}
	}
}

// TestFollow reads while the replica writes, across rotations, until it ends.
func TestFollow(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test", func(o *Options) { o.LogBytes, o.LogFiles = 50, 1000 })
	r := d.start(shell("for i in 1 2 3 4 5 6 7 8 9; do echo this is line $i; sleep 0.02; done"))
	d.up(t, r)
	l := must(d.Log(t.Context(), r, "stdout", 0, 0, true))
	defer l.Close()
	read := make(chan string)
	go func() { read <- string(must(io.ReadAll(l))) }()
	d.down(t, r)
	select {
	case got := <-read:
		if strings.Count(got, "\n") != 9 || !strings.HasSuffix(got, "this is line 9\n") {
			t.Errorf("read %q", got)
		}
	case <-time.After(patience):
		t.Fatal("following does not end with the replica")
	}
}

// TestFollowFromBeforeTheStart follows a replica whose output has no place yet: what it then writes comes soon, not when a
// reader that watches looks again by itself.
func TestFollowFromBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "later")
		l := &logReader{
			ctx: t.Context(), dir: dir, stream: "stdout", follow: true, left: 1, closed: make(chan struct{}), over: make(chan struct{}),
			recheck: time.Hour, watch: func() func() {
				if !exists(dir) {
					return nil
				}
				return func() {}
			},
		}
		defer l.Close()
		read := make(chan string)
		go func() { read <- string(must(io.ReadAll(l))) }()
		synctest.Wait() // it has found nothing
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		must(must(newOutput(dir, "stdout", 100, 2)).Write([]byte("x")))
		began := time.Now()
		if got := <-read; got != "x" || time.Since(began) > time.Second {
			t.Errorf("read %q after %v", got, time.Since(began))
		}
	})
}

// TestFollowEnds shows the other two ways in which following ends: the context, and Close.
func TestFollowEnds(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	r := d.start(shell("echo begun; exec sleep 1000"))
	d.up(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	byContext := must(d.Log(ctx, r, "stdout", 0, 0, true))
	byClose := must(d.Log(t.Context(), r, "stdout", 0, 0, true))
	ended := make(chan error, 2)
	for _, l := range []io.Reader{byContext, byClose} {
		go func() {
			_, err := io.ReadAll(l)
			ended <- err
		}()
	}
	cancel()
	byClose.Close()
	for range 2 {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("following ended without an error although the replica lives")
			}
		case <-time.After(patience):
			t.Fatal("following does not end")
		}
	}
	byContext.Close()
}
