package cli

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
)

// fileOutput is where a command writes a file: it appears whole or not at all, and replaces another only on request.
type fileOutput struct {
	File  string // empty: standard output
	Force bool   // a file that exists is replaced
	Late  bool   // the place was free when the work began: what is there by now stays, and the file is put beside it
}

// besideError says that something appeared where a file was to be while it was made, and beside what it was put.
type besideError struct{ err *dovetail.Error }

func (b besideError) Error() string { return b.err.Error() }

func (b besideError) Unwrap() error { return b.err }

// flags adds the flags that say where it goes.
func (o *fileOutput) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.File, "out", "", "write to this `file`, compressed if its name ends in .gz (default: standard output)")
	cmd.Flags().BoolVar(&o.Force, "force", false, "replace the file if it exists")
}

// write makes the file of what a function writes.
func (o *fileOutput) write(standard io.Writer, fill func(io.Writer) error) error {
	if o.File == "" {
		return fill(standard)
	}
	info, err := os.Stat(o.File)
	switch {
	case err == nil && info.IsDir() && !o.Late:
		return dovetail.Errorf(dovetail.Invalid, "cannot write %s: it is a directory; give the name of a file in it", o.File)
	case err == nil && !info.Mode().IsRegular() && !info.IsDir(): // a pipe or a device stays what it is
		f, err := os.OpenFile(o.File, os.O_WRONLY, 0)
		if err != nil {
			return o.failed(err)
		}
		return o.fill(f, fill)
	case err == nil && !o.Force && !o.Late:
		return o.exists()
	}
	partial := fmt.Sprintf("%s.%d.partial", o.File, os.Getpid())
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return o.failed(err)
	}
	if err := o.fill(f, fill); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return o.appear(partial)
}

// appear gives the finished file its name.
func (o *fileOutput) appear(partial string) error {
	name := claim
	if o.Force {
		name = os.Rename
	}
	err := name(partial, o.File)
	switch {
	case err == nil:
		return nil
	case !o.Force && errors.Is(err, fs.ErrExist):
		return o.beside(partial)
	}
	return errors.Join(o.failed(err), os.Remove(partial))
}

// claim gives a file a name. Unlike a rename it replaces nothing that has the name by now: the error is fs.ErrExist then.
func claim(file, name string) error {
	err := os.Link(file, name)
	switch {
	case err == nil:
		return os.Remove(file)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) // where there are no links
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Rename(file, name))
}

// beside gives the finished file a name that is free, "runs-2.csv" beside "runs.csv", and returns a besideError that says which.
func (o *fileOutput) beside(partial string) error {
	dir, base := filepath.Split(o.File)
	stem, rest, dotted := strings.Cut(base, ".")
	if dotted {
		rest = "." + rest
	}
	kept := partial
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s%s-%d%s", dir, stem, n, rest)
		err := claim(partial, name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			kept = name
		}
		return besideError{dovetail.Errorf(dovetail.Conflict, "%s appeared meanwhile and stays as it is; what was to be written there is in %s", o.File, kept)}
	}
}

// fill writes to an open file, compresses if the name says so, and closes it.
func (o *fileOutput) fill(f *os.File, fill func(io.Writer) error) error {
	defer f.Close()
	if !strings.HasSuffix(o.File, ".gz") {
		if err := fill(f); err != nil {
			return err
		}
		return f.Close()
	}
	z := gzip.NewWriter(f)
	if err := fill(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return o.failed(err)
	}
	return f.Close()
}

func (o *fileOutput) exists() error {
	return dovetail.Errorf(dovetail.Conflict, "%s exists already; choose another name, or add --force to replace it", o.File)
}

func (o *fileOutput) failed(err error) error {
	return dovetail.Errorf(dovetail.Invalid, "cannot write %s: %v; choose another place", o.File, err)
}
