package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
)

// The files of a report.
const (
	pageFile    = "report.html"
	csvFile     = "metrics.csv"
	jsonFile    = "metrics.json"
	tableFile   = "metrics.md"
	perRunFile  = "per-run.csv"
	figuresPath = "figures"
)

// A timeline shows at most so many jobs on so many nodes: package report draws none of more.
const (
	timelineJobs  = 60
	timelineNodes = 12
)

// free makes sure, before anything is simulated, that nothing is overwritten unless that was asked for.
func (o *simulateOptions) free() error {
	if o.Out != "" {
		for _, name := range []string{pageFile, csvFile, jsonFile, tableFile} {
			if o.PerRun != "" && whereabouts(o.PerRun) == whereabouts(filepath.Join(o.Out, name)) {
				return usagef("--per-run %s is a file of the report in --out; choose another name, or leave it out: %s is in the report", o.PerRun, perRunFile)
			}
		}
		entries, err := os.ReadDir(o.Out)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return dovetail.Errorf(dovetail.Invalid, "cannot write a report into %s: %v; choose another directory with --out", o.Out, err)
		case len(entries) > 0 && !o.Force:
			return dovetail.Errorf(dovetail.Conflict, "%s is not empty; choose another directory, or replace files of the same names with --force", o.Out)
		}
	}
	if o.PerRun == "" || o.Force {
		return nil
	}
	if info, err := os.Stat(o.PerRun); err == nil && info.Mode().IsRegular() {
		out := fileOutput{File: o.PerRun}
		return out.exists()
	}
	return nil
}

// whereabouts returns where a file is, or will be, however it is spelt.
func whereabouts(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	dir, base := filepath.Split(file)
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		dir = direct
	}
	return filepath.Join(dir, base)
}

// makeDirectory makes the directory of the report, if there is to be one. It stays empty until there is something to report, so
// that the same command may follow one that was interrupted.
func (o *simulateOptions) makeDirectory() error {
	if o.Out == "" {
		return nil
	}
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return dovetail.Errorf(dovetail.Invalid, "cannot make the directory of the report: %v; choose another one with --out", err)
	}
	return nil
}

// runFiles returns where what became of every run is written.
func (o *simulateOptions) runFiles() []fileOutput {
	var files []fileOutput
	if o.PerRun != "" {
		files = append(files, fileOutput{File: o.PerRun, Force: o.Force})
	}
	if path := filepath.Join(o.Out, perRunFile); o.Out != "" && (o.PerRun == "" || whereabouts(path) != whereabouts(o.PerRun)) {
		files = append(files, fileOutput{File: path, Force: o.Force})
	}
	return files
}

// writeReport fills the directory of a report.
func (s *simulation) writeReport(o *simulateOptions, doc *report.Document) error {
	var digests []*report.Digest
	for i := range s.results {
		digests = append(digests, s.results[i].Digest)
	}
	figures := report.Figures(digests)
	page := report.Report{
		Title: "Simulation of " + printable(o.workload()), Command: o.Command, About: s.about, Notes: s.notices, Document: *doc, Figures: figures,
	}
	for _, f := range []struct {
		name string
		fill func(io.Writer) error
	}{
		{pageFile, func(w io.Writer) error { return report.WriteHTML(w, &page) }},
		{csvFile, func(w io.Writer) error { return report.WriteCSV(w, doc.Cells) }},
		{jsonFile, func(w io.Writer) error { return report.WriteJSON(w, doc) }},
		{tableFile, func(w io.Writer) error { return report.WriteMarkdown(w, doc) }},
	} {
		if err := s.put(o.fill(f.name, f.fill)); err != nil {
			return err
		}
	}
	for _, f := range figures {
		if err := s.put(o.fill(filepath.Join(figuresPath, f.Name+".svg"), f.WriteSVG)); err != nil {
			return err
		}
		if err := s.put(o.fill(filepath.Join(figuresPath, f.Name+".png"), f.WritePNG)); err != nil {
			return err
		}
	}
	return nil
}

// fill writes one file of the report.
func (o *simulateOptions) fill(name string, fill func(io.Writer) error) error {
	out := fileOutput{File: filepath.Join(o.Out, name), Force: o.Force, Late: !o.Force}
	if err := os.MkdirAll(filepath.Dir(out.File), 0o777); err != nil {
		return out.failed(err)
	}
	return out.write(nil, fill)
}
