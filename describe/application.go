package describe

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// The bounds of a description. They keep sums of what it asks for within an int64, and hostile texts harmless.
const (
	MaxComponents  = 1000
	MaxReplicas    = 100_000 // of one component, core and elastic
	MaxPriority    = 1_000_000
	MaxRetries     = 1000
	MaxSize        = 10_000_000 // minutes
	MaxNameLength  = 63         // letters of a name
	MaxClassLength = 1000       // … of the name of a job class: an application and its parameters
	MaxNeighbours  = 100        // names that an application avoids, and that it prefers
)

const applicationText = "the application description"

// Options say how a text is read.
type Options struct {
	File     string // names the text in messages; may be empty
	MaxBytes int    // longest text that is read; 0 means DefaultMaxBytes
}

// Application reads an application description. Faults come as one dovetail.Invalid error that lists all of them in the
// order of the text. The result has its defaults filled in (kind, count, max, the text form of parameter defaults) and passes
// Validate.
func Application(data []byte, opts Options) (*dovetail.Application, error) {
	n, fault := parse(data, applicationText, opts.MaxBytes)
	if fault == nil {
		fault = tooMany(n)
	}
	if fault != nil {
		return nil, invalid(applicationText, opts.File, *fault)
	}
	app := new(dovetail.Application)
	d := newDecoder()
	d.decode(n, app)
	fillDefaults(app, d.report)
	validate(app, d.report)
	if err := d.err(applicationText, opts.File); err != nil {
		return nil, err
	}
	return app, nil
}

// Validate returns what is wrong with an application that was not read from a text, for example one that a program made.
// Only fields are given, no lines. The application is not changed; a Max of 0 means Count.
func Validate(app *dovetail.Application) []dovetail.Fault {
	r := newReport()
	validate(app, r)
	return r.sorted()
}

// tooMany refuses more components than anybody could want, before time is spent on them.
func tooMany(n *yaml.Node) *dovetail.Fault {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value == "components" && value.Kind == yaml.SequenceNode && len(value.Content) > MaxComponents {
			return &dovetail.Fault{Line: value.Line, Column: value.Column, Field: "components",
				Message: fmt.Sprintf("%d components are too many; the limit is %d; use count and max for many replicas of one kind",
					len(value.Content), MaxComponents)}
		}
	}
	return nil
}

// fillDefaults sets what the text leaves open and the words of the vocabulary have no zero value for.
func fillDefaults(app *dovetail.Application, r *report) {
	if !r.given("kind") {
		app.Kind = dovetail.Batch
	}
	for i := range app.Components {
		c, field := &app.Components[i], fmt.Sprintf("components[%d]", i)
		if !r.given(field + ".count") {
			c.Count = 1
		}
		if !r.given(field + ".max") {
			c.Max = c.Count
		}
	}
	for _, name := range sortedKeys(app.Params) {
		p := app.Params[name]
		canonicalParam(&p)
		app.Params[name] = p
	}
}
