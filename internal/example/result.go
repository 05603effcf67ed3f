package example

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dovetail-sched/dovetail"
)

// Result is what a master writes when its job is done.
type Result struct {
	Spec     Spec     `json:"spec"`
	Digest   string   `json:"digest"`   // of what was computed
	Expected string   `json:"expected"` // what it must be
	OK       bool     `json:"ok"`       // they are equal
	Seconds  float64  `json:"seconds"`  // since the master's start
	Counters Counters `json:"counters"`
}

// Check reads the result that a master wrote to a file, and compares it with what is expected of the same data, computed
// afresh. A wrong result is a dovetail.Conflict error; one that is missing or cannot be read is dovetail.Invalid.
func Check(path string) (Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Result{}, dovetail.Errorf(dovetail.Invalid, "read result: %v; did the master end?", err)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return Result{}, dovetail.Errorf(dovetail.Invalid, "result %s: %v", path, err)
	}
	j, err := newJob(r.Spec)
	if err != nil {
		return r, err
	}
	if want := j.expected(); r.Digest != want || !r.OK {
		return r, dovetail.Errorf(dovetail.Conflict, "result %s: %s gave %s, expected %s: work was lost or done twice",
			path, r.Spec.Job, r.Digest, want)
	}
	return r, nil
}

// write puts the result into a file, all of it or nothing.
func (r *Result) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return writeFile(path, append(data, '\n'))
}

// writeFile replaces a file, all of it or nothing.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is not there after the renaming
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
