package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Names of the files of a record; the package comment says who writes which.
const (
	specFile    = "spec.json"
	controlFile = "control.json"
	lockFile    = "lock"
	startedFile = "started.json"
	readyFile   = "ready"
	exitFile    = "exit.json"
	shimLogFile = "shim.log"
	workDir     = "work"
)

// spec is all that a shim needs to know.
type spec struct {
	Version  int              `json:"version"`
	Replica  dovetail.Replica `json:"replica"`
	Elastic  bool             `json:"elastic,omitempty"`
	Node     string           `json:"node"`
	Host     string           `json:"host"`
	Ports    map[string]int   `json:"ports,omitempty"`
	Boot     string           `json:"boot"`   // id of the boot during which the replica was handed over
	Marker   string           `json:"marker"` // value of the environment variable DOVETAIL_REPLICA
	Argv     []string         `json:"argv"`
	Env      []string         `json:"env"`
	WorkDir  string           `json:"workDir"`
	LogDir   string           `json:"logDir"`
	LogBytes int64            `json:"logBytes"` // of one file
	LogFiles int              `json:"logFiles"` // a stream
	Limits   limits           `json:"limits"`
	Group    group            `json:"group,omitzero"`
	Stop     dovetail.Stop    `json:"stop,omitzero"`
	Remove   *dovetail.Remove `json:"remove,omitempty"`
	Ready    *dovetail.Ready  `json:"ready,omitempty"`
}

// specVersion is the version of the record's format.
const specVersion = 1

// control is the state that the daemon wants a replica to be in.
type control struct {
	Frozen bool   `json:"frozen,omitempty"`
	Stop   bool   `json:"stop,omitempty"`
	Hook   bool   `json:"hook,omitempty"` // run the removal hook first
	Why    string `json:"why,omitempty"`  // the replica failed and is stopped for that; empty: it was asked to stop
}

// identity tells a process from all others, before and after it, that have the same pid.
type identity struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // field 22 of /proc/PID/stat: clock ticks after boot
	Boot  string `json:"boot"`
}

// started is written before the command runs.
type started struct {
	identity
	At time.Time `json:"at"`
}

// ended is written when the last process of a replica is gone.
type ended struct {
	Exit    dovetail.Exit  `json:"exit"`
	Usage   dovetail.Usage `json:"usage"`
	At      time.Time      `json:"at"`
	Hook    string         `json:"hook,omitempty"`  // what went wrong with the removal hook
	Notes   []string       `json:"notes,omitempty"` // what did not work as wished, such as limits
	Started bool           `json:"started,omitempty"`
}

// recordName names the record of a replica.
func recordName(r dovetail.Replica) string {
	return fmt.Sprintf("%d-%d-%d-%d", r.Run, r.Component, r.Index, r.Attempt)
}

// parseRecordName is the inverse of recordName.
func parseRecordName(name string) (dovetail.Replica, bool) {
	var r dovetail.Replica
	_, err := fmt.Sscanf(name, "%d-%d-%d-%d", &r.Run, &r.Component, &r.Index, &r.Attempt)
	return r, err == nil && recordName(r) == name
}

// writeJSON puts v into the file as a whole or not at all. If durable, it is on disk when writeJSON returns.
func writeJSON(path string, v any, durable bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	if durable {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readJSON reads what writeJSON wrote. A file that does not exist gives false and no error.
func readJSON[T any](path string) (v T, ok bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, false, fmt.Errorf("%s: %w", path, err)
	}
	return v, true, nil
}

// exists reports whether there is a file of this name.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
