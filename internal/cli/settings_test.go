package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/dovetail-sched/dovetail"
)

func testDefaults() serveOptions {
	return serveOptions{StateDir: "/state", Listen: defaultListen, Nodes: "1", LogLevel: "info", Snapshots: 1_000_000, Usage: defaultUsage(), Schedule: dovetail.DefaultConfig()}
}

// configured resolves a configuration from a file's text, variables and flags.
func configured(t *testing.T, file string, variables map[string]string, flags ...string) (*serveOptions, error) {
	t.Helper()
	e, _, _ := testEnvironment(variables)
	defaults := testDefaults()
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	if err := addFlags(f, &defaults); err != nil {
		t.Fatal(err)
	}
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	return e.configure(f, path, defaults)
}

func TestConfigure(t *testing.T) {
	scheduled := func(change func(*serveOptions)) serveOptions {
		o := testDefaults()
		o.Scheduled = true
		change(&o)
		return o
	}
	for _, tc := range []struct {
		reason    string
		file      string
		variables map[string]string
		flags     []string
		want      serveOptions
	}{
		{"nothing said: the defaults, and no word on scheduling", "{}", nil, nil, testDefaults()},
		{"the file beats the defaults", "policy: srpt\npreempt: true\ninteractiveFirst: false\nmaxWait: 5m", nil, nil,
			scheduled(func(o *serveOptions) {
				o.Schedule.Policy, o.Schedule.Preempt, o.Schedule.InteractiveFirst = "srpt", true, false
				o.Schedule.MaxWait = dovetail.Duration(5 * time.Minute)
			})},
		{"variables beat the file", "policy: srpt\nalloc: rigid", map[string]string{"DOVETAIL_POLICY": "hrrn"}, nil,
			scheduled(func(o *serveOptions) { o.Schedule.Policy, o.Schedule.Alloc = "hrrn", "rigid" })},
		{"flags beat variables", "policy: srpt", map[string]string{"DOVETAIL_POLICY": "hrrn", "DOVETAIL_REGROW": "9s"}, []string{"--policy", "edf", "--preempt"},
			scheduled(func(o *serveOptions) {
				o.Schedule.Policy, o.Schedule.Preempt, o.Schedule.Regrow = "edf", true, dovetail.Duration(9*time.Second)
			})},
		{"a flag with the default's value is still said", "policy: srpt", nil, []string{"--policy", "fifo"},
			scheduled(func(*serveOptions) {})},
		{"neighbours, in all three ways", "choose: price\nwindow: 8\nhalfLife: 24h\ndrawSeed: 18446744073709551615", map[string]string{"DOVETAIL_SLOWDOWN": "1.5"}, []string{"--choose", "bandit", "--passes", "9"},
			scheduled(func(o *serveOptions) {
				o.Schedule.Colocation = dovetail.Colocation{
					Choose: "bandit", Window: 8, Passes: 9, Slowdown: 1.5, HalfLife: dovetail.Duration(24 * time.Hour), Seed: 1<<64 - 1,
				}
			})},
		{"nobody chooses by neighbours any more", "choose: price", nil, []string{"--choose=off"},
			scheduled(func(*serveOptions) {})},
		{"nodes may be a number", "nodes: 4", nil, []string{"--state-dir", "/elsewhere"},
			func() serveOptions { o := testDefaults(); o.Nodes, o.StateDir = "4", "/elsewhere"; return o }()},
	} {
		got, err := configured(t, tc.file, tc.variables, tc.flags...)
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		if diff := cmp.Diff(tc.want, *got, cmp.AllowUnexported(serveOptions{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestConfigureReportsAllFaults(t *testing.T) {
	_, err := configured(t, "policy: nice\nslowdown: -1", map[string]string{"DOVETAIL_REGROW": "soon", "DOVETAIL_CHOOSE": "best"}, "--alloc", "soft", "--listen", "", "--step", "NaN")
	var bad *dovetail.Error
	if !errors.As(err, &bad) {
		t.Fatalf("got %v, want a dovetail.Error", err)
	}
	var sources []string
	for _, f := range bad.Faults {
		sources = append(sources, f.Field)
	}
	if diff := cmp.Diff([]string{"configuration file", "configuration file", "DOVETAIL_REGROW", "DOVETAIL_CHOOSE", "--listen", "--alloc", "--step"}, sources); diff != "" {
		t.Errorf("sources of the faults (-want +got):\n%s", diff)
	}
}

// A setting that the file, the flags and the variables do not all know would be lost on one of the ways.
func TestEverySettingHasItsPlaceInTheFile(t *testing.T) {
	o := testDefaults()
	o.TokenFile = "token"
	values, err := o.file().values()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range serveSettings() {
		names = append(names, s.name)
		if err := s.set(&o, values[s.name]); err != nil {
			t.Errorf("%s: its own default is refused: %v", s.name, err)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), names); diff != "" {
		t.Errorf("fields of the file and settings differ (-file +settings):\n%s", diff)
	}
}

// The help names what a flag takes before the text that explains it, and nowhere in it.
func TestFlagsSayWhatTheyTake(t *testing.T) {
	defaults := testDefaults()
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	if err := addFlags(f, &defaults); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"listen":            {"host:port", "any that is free"},
		"preempt":           {"", "jump the serving order"},
		"interactive-first": {"", "of their priority"},
	} {
		kind, text := pflag.UnquoteUsage(f.Lookup(name))
		if kind != want[0] || !strings.HasSuffix(text, want[1]) {
			t.Errorf("--%s takes %q: %q", name, kind, text)
		}
	}
}

func TestToken(t *testing.T) {
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "token"), filepath.Join(dir, "empty")
	for path, s := range map[string]string{file: " s3cret\n", empty: "\n"} {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		reason, file, want string
		fails              bool
	}{
		{"the file wins, without its blanks", file, "s3cret", false},
		{"else the variable", "", "fromenv", false},
		{"an empty file is no open door", empty, "", true},
		{"nor is a missing one", filepath.Join(dir, "none"), "", true},
	} {
		e, _, _ := testEnvironment(map[string]string{"DOVETAIL_TOKEN": "fromenv"})
		o := serveOptions{TokenFile: tc.file}
		if err := e.readToken(&o); (err != nil) != tc.fails || !tc.fails && o.token != tc.want {
			t.Errorf("%s: token %q, error %v", tc.reason, o.token, err)
		}
	}
}
