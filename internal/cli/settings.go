package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// serveOptions is the daemon's effective configuration.
type serveOptions struct {
	StateDir  string
	Listen    string
	Nodes     string // how many equal parts of this machine, or the file that describes them
	TokenFile string // empty: the token, if any, is that of the environment
	LogLevel  string
	Snapshots int // records between two snapshots
	Usage     usageOptions
	Schedule  dovetail.Config
	Scheduled bool // somebody said something about Schedule

	token string // read, not configured
	print bool
}

// serveFile is the daemon's configuration file. What it does not name is left as it is.
type serveFile struct {
	StateDir         *string            `json:"stateDir,omitempty"`
	Listen           *string            `json:"listen,omitempty"`
	Nodes            *countOrFile       `json:"nodes,omitempty"`
	TokenFile        *string            `json:"tokenFile,omitempty"`
	LogLevel         *string            `json:"logLevel,omitempty"`
	SnapshotEvery    *int               `json:"snapshotEvery,omitempty"`
	Usage            *string            `json:"usage,omitempty"`
	UsageSignal      *string            `json:"usageSignal,omitempty"`
	UsageDisk        *string            `json:"usageDisk,omitempty"`
	UsageNet         *string            `json:"usageNet,omitempty"`
	UsageLabel       *string            `json:"usageLabel,omitempty"`
	UsageNode        *string            `json:"usageNode,omitempty"`
	Policy           *string            `json:"policy,omitempty"`
	Alloc            *string            `json:"alloc,omitempty"`
	Reclaim          *string            `json:"reclaim,omitempty"`
	Preempt          *bool              `json:"preempt,omitempty"`
	InteractiveFirst *bool              `json:"interactiveFirst,omitempty"`
	MaxWait          *dovetail.Duration `json:"maxWait,omitempty"`
	Regrow           *dovetail.Duration `json:"regrow,omitempty"`
	Replan           *dovetail.Duration `json:"replan,omitempty"`
	Place            *string            `json:"place,omitempty"`
	Choose           *string            `json:"choose,omitempty"`
	Window           *int               `json:"window,omitempty"`
	Passes           *int               `json:"passes,omitempty"`
	Step             *float64           `json:"step,omitempty"`
	Period           *dovetail.Duration `json:"period,omitempty"`
	Slowdown         *float64           `json:"slowdown,omitempty"`
	HalfLife         *dovetail.Duration `json:"halfLife,omitempty"`
	Classes          *int               `json:"classes,omitempty"`
	DrawSeed         *string            `json:"drawSeed,omitempty"` // a number; larger ones than int64 holds are right
}

// countOrFile is a number, or the name of a file.
type countOrFile string

// UnmarshalJSON reads a number or a string.
func (c *countOrFile) UnmarshalJSON(data []byte) error {
	var n int
	if json.Unmarshal(data, &n) == nil {
		*c = countOrFile(strconv.Itoa(n))
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("expected a number of nodes or the name of a file")
	}
	*c = countOrFile(s)
	return nil
}

// file returns the configuration as a file would say it.
func (o *serveOptions) file() serveFile {
	c := &o.Schedule
	n := &c.Colocation
	choose, seed := chooseText(n.Choose), strconv.FormatUint(n.Seed, 10)
	return serveFile{
		&o.StateDir, &o.Listen, (*countOrFile)(&o.Nodes), &o.TokenFile, &o.LogLevel, &o.Snapshots,
		&o.Usage.Source, &o.Usage.Signal, &o.Usage.Disk, &o.Usage.Net, &o.Usage.Label, &o.Usage.Node,
		&c.Policy, &c.Alloc, &c.Reclaim, &c.Preempt, &c.InteractiveFirst, &c.MaxWait, &c.Regrow, &c.Replan, &c.Place,
		&choose, &n.Window, &n.Passes, &n.Step, &n.Period, &n.Slowdown, &n.HalfLife, &n.Classes, &seed,
	}
}

// values returns what a file says, by the names of the flags.
func (f serveFile) values() (map[string]string, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // 1000000, not 1e+06
	if err := numbers.Decode(&fields); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(fields))
	for name, v := range fields {
		values[kebab(name)] = fmt.Sprint(v)
	}
	return values, nil
}

// kebab turns maxWait into max-wait.
func kebab(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// variable returns the name of the environment variable of a setting.
func variable(name string) string {
	return "DOVETAIL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// serveSetting is one entry of the daemon's configuration.
type serveSetting struct {
	name, value, help string
	set               func(*serveOptions, string) error
}

// serveSettings returns every entry, in the order in which they are shown.
func serveSettings() []serveSetting {
	field := func(name, value, help string, f func(*serveOptions) *string) serveSetting {
		return serveSetting{name, value, help, func(o *serveOptions, s string) error {
			if s == "" && name != "token-file" {
				return fmt.Errorf("%s: must not be empty", name)
			}
			*f(o) = s
			return nil
		}}
	}
	all := []serveSetting{
		field("state-dir", "directory", "where the journal, the runs' records and their logs are kept", func(o *serveOptions) *string { return &o.StateDir }),
		field("listen", "host:port", "where to listen; anything but this machine needs a token; port 0: any that is free", func(o *serveOptions) *string { return &o.Listen }),
		field("nodes", "N|FILE", "split this machine into so many equal nodes, or as a file says", func(o *serveOptions) *string { return &o.Nodes }),
		field("token-file", "file", "clients must know the token in this file", func(o *serveOptions) *string { return &o.TokenFile }),
		{"log-level", "level", "debug, info, warn or error", func(o *serveOptions, s string) error {
			if !slices.Contains([]string{"debug", "info", "warn", "error"}, s) {
				return fmt.Errorf("log-level %q: expected debug, info, warn or error", s)
			}
			o.LogLevel = s
			return nil
		}},
		{"snapshot-every", "N", "records of the journal between two snapshots: fewer make a restart faster", func(o *serveOptions, s string) error {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return fmt.Errorf("snapshot-every %q: expected a number from 1 on", s)
			}
			o.Snapshots = n
			return nil
		}},
	}
	all = append(all, usageSettings()...)
	for _, s := range schedulingSettings() {
		all = append(all, serveSetting{s.name, "value", s.help, func(o *serveOptions, text string) error {
			o.Scheduled = true
			return s.set(&o.Schedule, text)
		}})
	}
	return all
}

// addFlags adds a flag for each setting. Their values are read by configure: they come last, but a flag cannot know that.
func addFlags(f *pflag.FlagSet, defaults *serveOptions) error {
	values, err := defaults.file().values()
	if err != nil {
		return err
	}
	for _, s := range serveSettings() {
		v := &flagText{text: values[s.name], kind: s.value}
		truth := v.text == "true" || v.text == "false"
		if truth {
			v.kind = "bool"
		}
		if flag := f.VarPF(v, s.name, "", s.help); truth {
			flag.NoOptDefVal = "true"
		}
	}
	return nil
}

// flagText is the text given for a flag. The help shows kind in its place.
type flagText struct{ text, kind string }

func (t *flagText) String() string     { return t.text }
func (t *flagText) Set(s string) error { t.text = s; return nil }

// Type returns what stands for the text in the help.
func (t *flagText) Type() string { return t.kind }

// configure finds out the daemon's configuration: defaults, then the file, then the environment, then the flags. All
// faults are returned at once. A file that was not asked for may be missing.
func (e *environment) configure(f *pflag.FlagSet, file string, defaults serveOptions) (*serveOptions, error) {
	o := defaults
	bad := dovetail.Errorf(dovetail.Invalid, "the daemon's configuration is not valid")
	apply := func(s serveSetting, value, source string) {
		if err := s.set(&o, value); err != nil {
			bad.Faults = append(bad.Faults, dovetail.Fault{Field: source, Message: err.Error()})
		}
	}
	values, err := e.readConfig(file)
	if err != nil {
		return nil, err
	}
	for _, s := range serveSettings() {
		if v, ok := values[s.name]; ok {
			apply(s, v, "configuration file")
		}
	}
	for _, s := range serveSettings() {
		if v := e.getenv(variable(s.name)); v != "" {
			apply(s, v, variable(s.name))
		}
	}
	for _, s := range serveSettings() {
		if flag := f.Lookup(s.name); flag != nil && flag.Changed {
			apply(s, flag.Value.String(), "--"+s.name)
		}
	}
	if len(bad.Faults) > 0 {
		return nil, usageError{bad}
	}
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return nil, err
	}
	return &o, e.readToken(&o)
}

// readConfig returns what the configuration file says, by the names of the flags.
func (e *environment) readConfig(file string) (map[string]string, error) {
	asked := file != ""
	if !asked {
		file = e.configFile()
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the configuration: %v; check --config", err)
	}
	f, err := describe.Decode[serveFile](data, file)
	if err != nil {
		return nil, fileError{file, err}
	}
	return f.values()
}

// readToken finds the token that clients must know.
func (e *environment) readToken(o *serveOptions) error {
	if o.TokenFile == "" {
		o.token = e.token
		if o.token == "" {
			o.token = e.getenv("DOVETAIL_TOKEN")
		}
		return nil
	}
	data, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "cannot read the token: %v; check --token-file", err)
	}
	if o.token = strings.TrimSpace(string(data)); o.token == "" {
		return dovetail.Errorf(dovetail.Invalid, "%s is empty; put a token into it, for example with: head -c 24 /dev/urandom | base64 > %s", o.TokenFile, o.TokenFile)
	}
	return nil
}
