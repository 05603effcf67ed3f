package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/learn"
)

// historyImportOptions is what `dovetail history import` was asked to do.
type historyImportOptions struct {
	File     string // "-": standard input
	Defaults learn.Defaults
	DryRun   bool
	Force    bool // import what is on record already, too
}

func newHistoryImport(e *environment, run func(context.Context, *historyImportOptions) error) *cobra.Command {
	var o historyImportOptions
	var input string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add finished runs of another system to the history, to learn from",
		Long: `Add finished runs of another system to the history, from a CSV file, which may be compressed with gzip ("-" reads
standard input). Predictions learn from those that succeeded as if they had run here.

The first row names the columns, in any order. Needed are runtime_s, in seconds, and scale_out (or cores). Known
besides are job (or app), class, params, context, framework, machine_type, input_size (24GB; or data_size_MB, or
input_fraction), overlap with neighbour, stretches, ended, outcome, preempted, and run_id (or rep). docs/history.md
says what they mean. The job class is the job and its parameters: context and framework are two of them.

The whole file is read before anything is imported. Runs that are on record already, with the same end, runtime and all
else, are passed over. Rows without an end take that from when the file was last written; from standard input they are
new each time.`,
		Example: `  dovetail history import runs.csv --dry-run             # what is in it?
  dovetail history import runs.csv --app wordcount       # the file does not name the job
  dovetail history import old.csv --class 'sort?n=100'   # runs of exactly this job class
  dovetail history export --url http://old:7171 | dovetail history import -`,
		Args: exactly(1, "the FILE with the finished runs, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			var err error
			if o.Defaults.Input, err = parseInputSize(input); err != nil {
				return err
			}
			return orDefault(run, e.historyImport)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Defaults.App, "app", "", "`application` of the rows that do not name their job")
	f.StringVar(&o.Defaults.Class, "class", "", "`job class` of all rows, whatever they say")
	f.StringVar(&input, "input-size", "", "input `size`, such as 24GB, of rows that do not say it; an input_fraction is a part of it")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what is in the file, and import nothing")
	f.BoolVar(&o.Force, "force", false, "import runs that are on record already, too: they then count twice")
	return cmd
}

// parseInputSize reads --input-size; an empty text is 0.
func parseInputSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := dovetail.ParseSize(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("expected more than 0 bytes, such as 24GB")
	}
	if err != nil {
		return 0, usagef("--input-size: %v", err)
	}
	return n, nil
}

// historyImported is what `dovetail history import` says.
type historyImported struct {
	File     string          `json:"file"`
	Imported int             `json:"imported"` // 0 with --dry-run
	Known    int             `json:"known"`    // on record already, and therefore not imported
	Runs     int             `json:"runs"`
	Classes  []importedClass `json:"classes"` // in order of their first run
}

// importedClass is the runs of one job class in a file.
type importedClass struct {
	Class     string `json:"class"`
	Runs      int    `json:"runs"`
	Learnable int    `json:"learnable"` // succeeded and were not interrupted

	// Of the learnable ones.
	ScaleOutMin float64  `json:"scaleOutMin"`
	ScaleOutMax float64  `json:"scaleOutMax"`
	RuntimeMin  float64  `json:"runtimeMinSeconds"`
	RuntimeMax  float64  `json:"runtimeMaxSeconds"`
	InputSizes  int      `json:"inputSizes"` // that differ by more than 10 %
	Neighbours  []string `json:"neighbours"` // classes

	sizes []int64
}

func (e *environment) historyImport(ctx context.Context, o *historyImportOptions) error {
	in, err := e.openHistory(o.File)
	if err != nil {
		return err
	}
	o.Defaults.Ended = in.written
	found, err := e.surveyRuns(ctx, in, o)
	if err != nil {
		return err
	}
	if !o.DryRun {
		if err := e.sendRuns(ctx, in, o, found); err != nil {
			return err
		}
	}
	return e.show(found, func(w io.Writer) error { return e.writeImported(w, found) })
}

// historyFile can be read as often as need be.
type historyFile struct {
	name    string
	written time.Time // last; now, if that is not known
	open    func() (io.ReadCloser, error)
}

// openHistory returns a file of finished runs. Standard input is read at once: it comes only once.
func (e *environment) openHistory(file string) (*historyFile, error) {
	if file == "-" {
		data, err := io.ReadAll(e.in)
		if err != nil {
			return nil, dovetail.Errorf(dovetail.Invalid, "cannot read standard input: %v", err)
		}
		return &historyFile{"standard input", e.now(), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, nil
	}
	refuse := func(err error) error {
		return dovetail.Errorf(dovetail.Invalid, "cannot read the finished runs: %v; check the path, or use - for standard input", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, refuse(err)
	}
	written := e.now()
	if info.Mode().IsRegular() && info.ModTime().Before(written) {
		written = info.ModTime()
	}
	return &historyFile{file, written, func() (io.ReadCloser, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, refuse(err)
		}
		return f, nil
	}}, nil
}

// each calls f with every run of the file.
func (h *historyFile) each(ctx context.Context, d learn.Defaults, f func(p *dovetail.Past) error) error {
	in, err := h.open()
	if err != nil {
		return err
	}
	defer in.Close()
	buffered := bufio.NewReaderSize(in, 1<<16)
	var text io.Reader = buffered
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b { // RFC 1952, section 2.3.1
		if text, err = gzip.NewReader(buffered); err != nil {
			return dovetail.Errorf(dovetail.Invalid, "%s cannot be decompressed: %v", h.name, err)
		}
	}
	for p, err := range learn.Rows(text, h.name, d) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(&p)
		}
		if err != nil {
			return fileError{h.name, err}
		}
	}
	return nil
}

// surveyRuns reads the whole file and says what is in it.
func (e *environment) surveyRuns(ctx context.Context, in *historyFile, o *historyImportOptions) (*historyImported, error) {
	found := &historyImported{File: in.name}
	index := make(map[string]int)
	progress := e.newTicker("read")
	defer progress.leave()
	err := in.each(ctx, o.Defaults, func(p *dovetail.Past) error {
		if p.Class == "" {
			return dovetail.Errorf(dovetail.Invalid, "%s does not say which job its runs are of; name it with --app or --class", in.name)
		}
		i, ok := index[p.Class]
		if !ok {
			i = len(found.Classes)
			index[strings.Clone(p.Class)] = i
			found.Classes = append(found.Classes, importedClass{Class: p.Class, ScaleOutMin: math.MaxFloat64, RuntimeMin: math.MaxFloat64, Neighbours: []string{}})
		}
		found.Classes[i].add(p)
		found.Runs++
		progress.show(found.Runs)
		return learn.Check(p)
	})
	for i := range found.Classes {
		if c := &found.Classes[i]; c.Learnable == 0 {
			c.ScaleOutMin, c.RuntimeMin = 0, 0
		}
	}
	return found, err
}

func (c *importedClass) add(p *dovetail.Past) {
	c.Runs++
	if !learn.Learnable(p) {
		return
	}
	c.Learnable++
	c.ScaleOutMin, c.ScaleOutMax = min(c.ScaleOutMin, p.ScaleOut), max(c.ScaleOutMax, p.ScaleOut)
	c.RuntimeMin, c.RuntimeMax = min(c.RuntimeMin, p.Runtime), max(c.RuntimeMax, p.Runtime)
	known := func(size int64) bool { return learn.Similar(size, p.InputSize) }
	if p.InputSize > 0 && !slices.ContainsFunc(c.sizes, known) {
		c.sizes = append(c.sizes, p.InputSize)
		c.InputSizes = len(c.sizes)
	}
	for _, o := range p.Overlaps {
		if at, ok := slices.BinarySearch(c.Neighbours, o.Class); !ok {
			c.Neighbours = slices.Insert(c.Neighbours, at, o.Class)
		}
	}
}

// sendRuns imports the runs of a file, as many at once as the daemon takes.
func (e *environment) sendRuns(ctx context.Context, in *historyFile, o *historyImportOptions, found *historyImported) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	progress := e.newTicker(fmt.Sprintf("of %d imported", found.Runs))
	defer progress.leave()
	var batch []dovetail.Past
	size := 0
	send := func() error {
		n, err := c.ImportHistory(ctx, batch, o.Force)
		if err != nil {
			if found.Imported > 0 {
				e.say("%d of %s are imported; the rest is not. Import the file again: what is on record is passed over.", found.Imported, plural(found.Runs, "run", "runs"))
			}
			return err
		}
		found.Imported += n
		found.Known += len(batch) - n
		progress.show(found.Imported + found.Known)
		batch, size = batch[:0], 0
		return nil
	}
	err = in.each(ctx, o.Defaults, func(p *dovetail.Past) error {
		data, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if len(batch) > 0 && (len(batch) == client.MaxImported || size+len(data) > client.MaxImportBytes) {
			if err := send(); err != nil {
				return err
			}
		}
		batch, size = append(batch, *p), size+len(data)
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = send()
	}
	return err
}

func (e *environment) writeImported(w io.Writer, found *historyImported) error {
	t := newTable("CLASS", "RUNS", "TO LEARN FROM", "SCALE-OUT", "RUNTIME", "INPUT SIZES", "NEIGHBOURS")
	for i := range found.Classes {
		c := &found.Classes[i]
		scaleOut, runtime := "", ""
		if c.Learnable > 0 {
			scaleOut = fmt.Sprintf("%.4g to %.4g", c.ScaleOutMin, c.ScaleOutMax)
			runtime = span(fromSeconds(c.RuntimeMin)) + " to " + span(fromSeconds(c.RuntimeMax))
		}
		const most = 50 // characters of the list of neighbours
		t.add(printable(c.Class), fmt.Sprint(c.Runs), fmt.Sprint(c.Learnable), scaleOut, runtime, fmt.Sprint(c.InputSizes),
			clipLine(printable(strings.Join(c.Neighbours, ", ")), most))
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	runs, classes := plural(found.Runs, "run", "runs"), plural(len(found.Classes), "job class", "job classes")
	var said string
	switch {
	case found.Known > 0 && found.Imported == 0:
		said = fmt.Sprintf("%s of %s; all are on record already, and nothing was imported (--force imports them again).", runs, classes)
	case found.Known > 0:
		said = fmt.Sprintf("%d of %s imported; %s on record already (--force imports them again).", found.Imported, runs, plural(found.Known, "is", "are"))
	case found.Imported > 0:
		said = fmt.Sprintf("%s of %s imported.", runs, classes)
	default:
		said = fmt.Sprintf("%s of %s; nothing was imported.", runs, classes)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", said)
	return err
}

func fromSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ticker shows on a terminal how many runs were dealt with; elsewhere it shows nothing.
type ticker struct {
	e    *environment
	what string
	last time.Time
}

func (e *environment) newTicker(what string) *ticker { return &ticker{e: e, what: what, last: e.now()} }

func (t *ticker) show(n int) {
	if !t.e.errScreen || t.e.format != text {
		return
	}
	if now := t.e.now(); now.Sub(t.last) >= barEvery {
		t.last = now
		fmt.Fprintf(t.e.err, "\r%s %s\x1b[K", plural(n, "run", "runs"), t.what)
	}
}

// leave wipes it away.
func (t *ticker) leave() {
	if t.e.errScreen && t.e.format == text {
		fmt.Fprint(t.e.err, "\r\x1b[K")
	}
}
