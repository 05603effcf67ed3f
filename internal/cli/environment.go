package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// defaultListen is where the daemon listens, and is looked for, unless somebody says otherwise.
const defaultListen = "127.0.0.1:7171"

// environment is what all commands share: the terminal, the variables, the global flags.
type environment struct {
	*terminal
	getenv  func(string) string
	now     func() time.Time
	hook    func(point string) // for serve's engine; nil outside tests
	started bool               // the command line was understood
	command string             // that is being run, such as "dovetail submit"

	url, token string
	format     format
}

func newEnvironment(t *terminal, getenv func(string) string) *environment {
	return &environment{terminal: t, getenv: getenv, now: time.Now, command: "dovetail", format: text}
}

// client returns a client of the daemon that the flags, the variables or the default state directory name.
func (e *environment) client() (*client.Client, error) {
	return client.New(cmp.Or(e.url, e.getenv("DOVETAIL_URL"), e.runningURL(), "http://"+defaultListen),
		cmp.Or(e.token, e.getenv("DOVETAIL_TOKEN")))
}

// runningURL reads where the daemon of the default state directory says it listens; "" if there is none.
func (e *environment) runningURL() string {
	data, err := os.ReadFile(filepath.Join(e.stateDir(), urlFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// stateDir returns the default state directory: DOVETAIL_STATE_DIR, else as the XDG Base Directory Specification 0.8 says.
func (e *environment) stateDir() string {
	if dir := e.getenv(variable("state-dir")); dir != "" {
		return dir
	}
	return filepath.Join(cmp.Or(e.getenv("XDG_STATE_HOME"), filepath.Join(e.getenv("HOME"), ".local", "state")), "dovetail")
}

// configFile returns where the configuration is looked for.
func (e *environment) configFile() string {
	return filepath.Join(cmp.Or(e.getenv("XDG_CONFIG_HOME"), filepath.Join(e.getenv("HOME"), ".config")), "dovetail", "config.yaml")
}

// show writes a value: for programs as it is, for people as the function says.
func (e *environment) show(v any, people func(w io.Writer) error) error {
	if e.format != text {
		data, err := e.format.encode(v)
		if err != nil {
			return err
		}
		_, err = e.out.Write(data)
		return err
	}
	var b bytes.Buffer
	if err := people(&b); err != nil {
		return err
	}
	_, err := e.out.Write(b.Bytes())
	return err
}

// readInput reads a description from a file, or from standard input if its name is "-". It returns the name to use in messages.
func (e *environment) readInput(file string) ([]byte, string, error) {
	return e.readFile(file, "the description", "a description has some kilobytes: ")
}

// readFile reads a file, or standard input if its name is "-". It returns the name to use in messages. What it is, and how large such things
// usually are, is for these.
func (e *environment) readFile(file, what, usual string) ([]byte, string, error) {
	const most = 64 << 20
	name, in := file, e.in
	if file == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, name, dovetail.Errorf(dovetail.Invalid, "cannot read %s: %v; check the path, or use - for standard input", what, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, name, dovetail.Errorf(dovetail.Invalid, "cannot read %s: %v", name, err)
	}
	if len(data) > most {
		return nil, name, dovetail.Errorf(dovetail.Invalid, "%s has more than %d MiB; %sis it the right file?", name, most>>20, usual)
	}
	return data, name, nil
}

// cause returns why a context ended if err is a consequence of that, else err.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
