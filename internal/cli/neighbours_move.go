package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// neighboursResetOptions is what `dovetail neighbours reset` was asked to forget.
type neighboursResetOptions struct {
	Class string // empty: all
	Yes   bool   // nobody is asked
}

func newNeighboursReset(e *environment, run func(context.Context, *neighboursResetOptions) error) *cobra.Command {
	var o neighboursResetOptions
	var all bool
	cmd := &cobra.Command{
		Use:   "reset CLASS|--all",
		Short: "Forget what is known of a job class and its neighbours, or all",
		Long: `Forget what is known of a job class and of others beside it, or with --all of all of them, and begin to learn anew.
Runs that have ended teach nothing of neighbours any more; what they say of runtimes stays.

On a terminal you are asked first; elsewhere --yes is needed. "dovetail neighbours export" keeps a copy.`,
		Example: `  dovetail neighbours reset sort
  dovetail neighbours reset 'wordcount?input=large' --yes
  dovetail neighbours export --out neighbours.json && dovetail neighbours reset --all`,
		ValidArgsFunction: e.completeClasses(),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !all:
				return usagef("forget what? Expected a job CLASS, or --all; `dovetail neighbours` lists them")
			case len(args) > 0 && all:
				return usagef("--all forgets %s too; give one of them", args[0])
			case len(args) > 1:
				return usagef("expected one job class, got %s", plural(len(args), "argument", "arguments"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Class = args[0]
			}
			return orDefault(run, e.neighboursReset)(cmd.Context(), &o)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget all that is known of neighbours")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func (e *environment) neighboursReset(ctx context.Context, o *neighboursResetOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	what := "all that is known of neighbours"
	if o.Class != "" {
		what = fmt.Sprintf("what is known of %s and of others beside it", printable(o.Class))
	}
	if !o.Yes {
		if err := e.confirm("Forget " + what); err != nil {
			return err
		}
	}
	gone, err := c.ForgetNeighbours(ctx, o.Class)
	if err != nil {
		return err
	}
	return e.show(&gone, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "Forgotten: %s and %s.\n", plural(gone.Classes, "job class", "job classes"), plural(gone.Pairs, "pair", "pairs"))
		return err
	})
}

// confirm asks a person whether they mean it. Where nobody can be asked it is an error.
func (e *environment) confirm(question string) error {
	if !e.inScreen || !e.errScreen {
		return usagef("nobody can be asked here; add --yes if you are sure")
	}
	fmt.Fprintf(e.err, "%s? [y/N] ", question)
	answer, err := bufio.NewReader(e.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return dovetail.Errorf(dovetail.Conflict, "nothing was changed")
}

// neighboursExportOptions is what `dovetail neighbours export` was asked for.
type neighboursExportOptions struct{ Out fileOutput }

func newNeighboursExport(e *environment, run func(context.Context, *neighboursExportOptions) error) *cobra.Command {
	var o neighboursExportOptions
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all that is known of neighbours, to import it elsewhere",
		Long: `Write all that is known of neighbours as one JSON document with a version, which "dovetail neighbours import" reads:
preferences, and what finished runs showed. Classes that did not run for long, and made room for others, are there too.`,
		Example: `  dovetail neighbours export neighbours.json
  dovetail neighbours export | dovetail neighbours import - --url http://new:7171`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && o.Out.File != "" {
				return usagef("expected one FILE at the most")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "-" {
				o.Out.File = args[0]
			}
			return orDefault(run, e.neighboursExport)(cmd.Context(), &o)
		},
	}
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) neighboursExport(ctx context.Context, o *neighboursExportOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	n, err := c.Neighbours(ctx, client.NeighboursQuery{PutAway: true})
	if err != nil {
		return err
	}
	as := jsonText // what import reads, unless somebody wants to look at it
	if e.format == yamlText {
		as = yamlText
	}
	data, err := as.encode(dovetail.Knowledge{Version: n.Version, Classes: n.Classes})
	if err != nil {
		return err
	}
	err = o.Out.write(e.out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil && o.Out.File != "" {
		e.note("What is known of %s was written to %s.", plural(len(n.Classes), "job class", "job classes"), o.Out.File)
	}
	return err
}

// neighboursImportOptions is what `dovetail neighbours import` was asked to do.
type neighboursImportOptions struct {
	File    string // "-": standard input
	Replace bool
}

func newNeighboursImport(e *environment, run func(context.Context, *neighboursImportOptions) error) *cobra.Command {
	var o neighboursImportOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take over what another system knows of neighbours",
		Long: `Take over what another system knows of neighbours, as "dovetail neighbours export" wrote it ("-" reads standard input;
a file may be compressed with gzip).

What is known here of the job classes in the file is replaced by what the file says; the other classes stay as they are.
With --replace those are forgotten. Preferences and rates of two systems are never averaged: nobody knows how alike
their machines are. All of the file is taken over or, if anything is wrong with it, nothing.`,
		Example: `  dovetail neighbours import neighbours.json
  dovetail neighbours import neighbours.json --replace   # and forget all else`,
		Args: exactly(1, "the FILE with what is known of neighbours, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return orDefault(run, e.neighboursImport)(cmd.Context(), &o)
		},
	}
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "forget all that is known of classes that are not in the file")
	return cmd
}

func (e *environment) neighboursImport(ctx context.Context, o *neighboursImportOptions) error {
	data, name, err := e.readFile(o.File, "what is known of neighbours", "")
	if err != nil {
		return err
	}
	if data, err = inflate(data, name); err != nil {
		return err
	}
	c, err := e.client()
	if err != nil {
		return err
	}
	done, err := c.RecallNeighbours(ctx, data, o.Replace)
	if err != nil {
		return fileError{name, err}
	}
	return e.show(&done, func(w io.Writer) error {
		text := plural(done.Recalled, "job class", "job classes") + " taken over"
		if done.Replaced > 0 {
			text += fmt.Sprintf(", of which %s known here before", plural(done.Replaced, "was", "were"))
		}
		if done.Forgotten > 0 {
			text += fmt.Sprintf("; %s forgotten", plural(done.Forgotten, "other", "others"))
		}
		_, err := fmt.Fprintln(w, text+".")
		return err
	})
}

// inflate decompresses data if it is compressed with gzip (RFC 1952, section 2.3.1).
func inflate(data []byte, name string) ([]byte, error) {
	const most = 64 << 20
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(z, most+1))
	}
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s cannot be decompressed: %v", name, err)
	}
	if len(data) > most {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s has more than %d MiB when decompressed: is it the right file?", name, most>>20)
	}
	return data, nil
}
