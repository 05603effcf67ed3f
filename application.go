package dovetail

import (
	"encoding/json"
	"fmt"
	"time"
)

// APIVersion is the version of the application description that this program reads and writes.
const APIVersion = "dovetail/v1"

// Kind says how people use an application.
type Kind string

// The kinds of applications.
const (
	Batch       Kind = "batch"       // runs to an end by itself
	Interactive Kind = "interactive" // a person waits for it: served first
	Service     Kind = "service"     // runs until it is cancelled
)

// Duration is a time.Duration that descriptions write as "90s" or "1h30m".
type Duration time.Duration

// String writes the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads a string such as "90s".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("duration %s: expected a string such as \"90s\"", data)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("duration %q: expected a number with a unit, such as 90s, 5m or 1h30m", s)
	}
	*d = Duration(v)
	return nil
}

// Application is a description of work: the components it consists of and what it needs of them. Runs of the same
// application share its name.
type Application struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Kind        Kind              `json:"kind"`
	Labels      map[string]string `json:"labels,omitempty"`
	Priority    int               `json:"priority,omitempty"`   // higher is served first
	Size        float64           `json:"size,omitempty"`       // expected duration in minutes (seed 004 §2, footnote 1); used when Expected is absent
	Expected    Duration          `json:"expected,omitempty"`   // runtime with all components
	MaxRuntime  Duration          `json:"maxRuntime,omitempty"` // counted from the start; a longer run ends as timedout
	Target      *Target           `json:"target,omitempty"`
	FinishBy    *time.Time        `json:"finishBy,omitempty"`
	Params      map[string]Param  `json:"params,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"`
	InputSize   int64             `json:"inputSize,omitempty"` // bytes that a run reads; 0: unknown
	Colocation  *Affinity         `json:"colocation,omitempty"`
	Components  []Component       `json:"components"`
}

// Target is the wanted runtime and with which probability it is to be met.
type Target struct {
	Runtime    Duration `json:"runtime"`
	Confidence float64  `json:"confidence,omitempty"` // in (0,1); 0 means unset
}

// Param declares a parameter of an application. A parameter without default must be given at submission.
type Param struct {
	Type        string   `json:"type"` // string, int, float, bool
	Default     *string  `json:"default,omitempty"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description,omitempty"`
}

// Component is one role in an application: Count core replicas that it cannot do without, and up to Max − Count elastic
// ones that only shorten the run.
type Component struct {
	Name      string            `json:"name"`
	Image     string            `json:"image,omitempty"`
	Command   []string          `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	WorkDir   string            `json:"workDir,omitempty"`
	Volumes   []Volume          `json:"volumes,omitempty"`
	Ports     map[string]Port   `json:"ports,omitempty"`
	Resources Resources         `json:"resources"`       // of one replica
	Nodes     map[string]string `json:"nodes,omitempty"` // labels that a node must have
	Count     int               `json:"count"`           // core replicas; 0 makes the component wholly elastic
	Max       int               `json:"max,omitempty"`   // core + elastic replicas; 0 means Count
	After     []string          `json:"after,omitempty"` // components that must be ready before this one starts
	Ready     *Ready            `json:"ready,omitempty"` // nil: a replica is ready as soon as it is up
	Restart   Restart           `json:"restart,omitzero"`
	Ends      string            `json:"ends,omitempty"` // "run": its exit ends the run
	Stop      Stop              `json:"stop,omitzero"`
	Remove    *Remove           `json:"remove,omitempty"`
}

// Limit returns the most replicas the component can use: core and elastic.
func (c *Component) Limit() int { return max(c.Count, c.Max) }

// Scaled returns the index of the component whose replicas are the scale-out of a run: the one that can grow the most; if none can,
// the one with the most replicas. Ties go to the first.
func (a *Application) Scaled() int {
	best := 0
	for i := range a.Components {
		c, b := &a.Components[i], &a.Components[best]
		if c.Elastic() > b.Elastic() || c.Elastic() == b.Elastic() && c.Limit() > b.Limit() {
			best = i
		}
	}
	return best
}

// Elastic returns how many elastic replicas the component can use.
func (c *Component) Elastic() int { return c.Limit() - c.Count }

// Volume makes a path of the node visible to a replica.
type Volume struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Port is a request for a port: the number is the wanted one, the allocated one may differ. In a description a bare
// number stands for Port{Port: n}.
type Port struct {
	Port int    `json:"port"`
	URL  string `json:"url,omitempty"` // shown to people, e.g. "http://${replica.address}:${port.ui}/lab"
}

// Ready is the condition under which a replica is ready. Exactly one of TCP, HTTP, Log and File is set.
type Ready struct {
	TCP     string   `json:"tcp,omitempty"`     // name of a port that accepts connections
	HTTP    string   `json:"http,omitempty"`    // URL that answers 2xx
	Log     string   `json:"log,omitempty"`     // regular expression that a line of the output matches
	File    string   `json:"file,omitempty"`    // path that exists
	Timeout Duration `json:"timeout,omitempty"` // not ready by then: the replica has failed; 0 means 5m
}

// Restart says what the death of a core replica means. Elastic replicas that die are replaced, later and later.
type Restart struct {
	Retries int `json:"retries,omitempty"` // how many deaths of core replicas a run survives; 0: the first fails the run
}

// Stop says how a replica is asked to end.
type Stop struct {
	Signal string   `json:"signal,omitempty"` // SIGTERM if empty
	Grace  Duration `json:"grace,omitempty"`  // time until SIGKILL; 0 means 10s
}

// Remove is the hook that runs before an elastic replica is stopped while its run goes on, so that its work is handed
// over first (Dask's retire, Spark's decommission). Exactly one of HTTP and Command is set.
type Remove struct {
	HTTP    *HTTPCall `json:"http,omitempty"`
	Command []string  `json:"command,omitempty"`
	Grace   Duration  `json:"grace,omitempty"` // how long the hook may take; 0 means 30s
}

// HTTPCall is a request made by a hook; any 2xx answer is a success.
type HTTPCall struct {
	URL    string `json:"url"`
	Method string `json:"method,omitempty"` // POST if empty
	Body   string `json:"body,omitempty"`
}
