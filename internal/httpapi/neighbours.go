package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/sched"
)

// neighboursInput asks what is known of neighbours.
type neighboursInput struct {
	App   string `query:"app" maxLength:"253" doc:"Only pairs with a job class of this application"`
	Class string `query:"class" doc:"In place of app: only pairs with this job class"`
	Away  bool   `query:"putAway" doc:"Also classes that did not run for long and made room for others"`
}

type neighboursOutput struct{ Body dovetail.Neighbours }

// forgetInput names a job class.
type forgetInput struct {
	Class string `path:"class" doc:"Job class, percent-encoded: wordcount%3Finput=small"`
}

type forgetOutput struct{ Body forgottenBody }

type forgottenBody struct {
	Classes int `json:"classes" doc:"How many job classes were known"`
	Pairs   int `json:"pairs" doc:"How many pairs of them"`
}

// knowledgeInput brings knowledge from elsewhere. Its body is a dovetail.Knowledge.
type knowledgeInput struct{ Raw }

type knowledgeOutput struct{ Body recalledBody }

type recalledBody struct {
	Recalled  int `json:"recalled" doc:"How many job classes were put on record"`
	Replaced  int `json:"replaced" doc:"Of how many of these something else was known before"`
	Forgotten int `json:"forgotten" doc:"How many others were forgotten"`
}

func (s *server) registerNeighbours(api huma.API) {
	const path = "/v1/neighbours"
	op := operation(http.MethodGet, path, "neighbours", "Say which job classes run well beside which", "neighbours")
	op.Description = "Classes are what was learned, as it is imported elsewhere; rows are what follows from it: preferences as probabilities, and by how much " +
		"finished runs were slowed down. docs/neighbours.md says how to read them."
	huma.Register(api, op, s.neighbours)

	op = operation(http.MethodPost, path, "recall-neighbours", "Put knowledge of neighbours from elsewhere on record", "neighbours")
	op.Description = "Replaces all that is known of the job classes that it names, and leaves the others. All of it or, where anything is wrong, nothing."
	huma.Register(api, op, func(ctx context.Context, in *knowledgeInput) (*knowledgeOutput, error) {
		return s.recall(ctx, in, false)
	})

	op = operation(http.MethodPut, path, "replace-neighbours", "Replace all knowledge of neighbours", "neighbours")
	op.Description = "Forgets all that is known, and puts this on record instead. Where anything is wrong with it, nothing changes."
	huma.Register(api, op, func(ctx context.Context, in *knowledgeInput) (*knowledgeOutput, error) {
		return s.recall(ctx, in, true)
	})
	schemas := api.OpenAPI().Components.Schemas
	describeBody(api.OpenAPI().Paths[path].Post, knowledgeRequest(schemas))
	describeBody(api.OpenAPI().Paths[path].Put, knowledgeRequest(schemas))

	op = operation(http.MethodDelete, path, "forget-neighbours", "Forget all that is known of neighbours", "neighbours")
	op.Description = "Runs that ended before teach nothing any more."
	huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*forgetOutput, error) { return s.forget(ctx, "") })
	op = operation(http.MethodDelete, path+"/{class}", "forget-neighbour", "Forget what is known of a job class and of others beside it", "neighbours")
	op.Description = "Runs of it that ended before teach nothing any more."
	huma.Register(api, op, func(ctx context.Context, in *forgetInput) (*forgetOutput, error) {
		if in.Class == "" {
			return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, "which job class is to be forgotten? DELETE %s forgets all", path))
		}
		return s.forget(ctx, in.Class)
	})
}

// known returns what is known of neighbours by class, and the settings that go with it. What was put away is a part of it if asked for.
func (s *server) known(ctx context.Context, putAway bool) (classes []dovetail.KnownClass, cfg dovetail.Colocation, at time.Time, err error) {
	var away []dovetail.KnownClass
	if putAway { // before the core: what comes back meanwhile is seen twice rather than not at all
		if away, err = s.reader.PutAway(ctx); err != nil {
			return nil, cfg, at, err
		}
	}
	err = s.engine.Inspect(ctx, func(c *sched.Core, now time.Time) {
		classes, cfg, at = c.Neighbours(), c.Config().Colocation, now
	})
	for i := range away {
		j, found := slices.BinarySearchFunc(classes, away[i].Class, func(k dovetail.KnownClass, c string) int { return strings.Compare(k.Class, c) })
		if !found {
			classes = slices.Insert(classes, j, away[i])
		}
	}
	return classes, cfg, at, err
}

func (s *server) neighbours(ctx context.Context, in *neighboursInput) (*neighboursOutput, error) {
	if in.App != "" && in.Class != "" {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, "a class says which application it is of; leave app or class out"))
	}
	classes, cfg, now, err := s.known(ctx, in.Away)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	all, err := readNeighbours(classes, cfg, now)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	if in.App == "" && in.Class == "" {
		return &neighboursOutput{Body: all}, nil
	}
	wanted := func(class string) bool { return class == in.Class || in.App != "" && dovetail.AppOf(class) == in.App }
	if found := only(all, wanted); len(found.Rows) > 0 {
		return &neighboursOutput{Body: found}, nil
	}
	return nil, s.failure(ctx, unknownNeighbour(cmp.Or(in.Class, in.App), classes))
}

// unknownNeighbour says that nothing is known of a class or an application.
func unknownNeighbour(name string, classes []dovetail.KnownClass) error {
	const most = 10
	var names []string
	for i := range classes {
		if informed(&classes[i]) {
			names = append(names, classes[i].Class)
		}
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d others", n-most))
	}
	if len(names) == 0 {
		return dovetail.Errorf(dovetail.NotFound,
			"nothing is known of %s as a neighbour: no two runs of different job classes have shared a node for long enough yet", name)
	}
	return dovetail.Errorf(dovetail.NotFound, "nothing is known of %s as a neighbour; known are %s", name, strings.Join(names, ", "))
}

// informed reports whether anything is known of a class but when it was forgotten.
func informed(k *dovetail.KnownClass) bool {
	return len(k.Preferences) > 0 || k.Updates > 0 || k.Evidence != nil
}

// readNeighbours works out what follows from what is known. It takes time by the pairs seen, off the engine's loop.
func readNeighbours(classes []dovetail.KnownClass, cfg dovetail.Colocation, now time.Time) (dovetail.Neighbours, error) {
	cfg.Classes = max(len(classes), 1)
	book := coloc.New(cfg)
	all := dovetail.Neighbours{Version: dovetail.KnowledgeVersion, Classes: filled(classes), Rows: []dovetail.NeighbourRow{}}
	if err := book.Recall(now, classes); err != nil {
		return all, fmt.Errorf("what the core knows of neighbours cannot be read: %w", err)
	}
	for i := range classes {
		all.Rows = append(all.Rows, readRow(book, &classes[i]))
	}
	return all, nil
}

// readRow works out what follows for runs of one class.
func readRow(book *coloc.Book, k *dovetail.KnownClass) dovetail.NeighbourRow {
	row := dovetail.NeighbourRow{Class: k.Class, Pairs: []dovetail.PairKnown{}, Rest: book.Likes(coloc.Stranger, book.Find(k.Class))}
	pair := func(class string) *dovetail.PairKnown {
		at, found := slices.BinarySearchFunc(row.Pairs, class, func(p dovetail.PairKnown, c string) int { return strings.Compare(p.Newcomer, c) })
		if !found {
			row.Pairs = slices.Insert(row.Pairs, at, dovetail.PairKnown{Newcomer: class, Likes: book.Likes(book.Find(class), book.Find(k.Class))})
		}
		return &row.Pairs[at]
	}
	for _, p := range k.Preferences {
		known := pair(p.Class)
		known.Updates, known.Goodness = p.Updates, p.Goodness
	}
	if k.Evidence == nil {
		return row
	}
	for _, r := range k.Evidence.Rates {
		if r.Beside == "" {
			continue
		}
		if slow, ok := coloc.Slowdown(k.Evidence, r.Beside); ok {
			pair(r.Beside).Slowdown = &slow
		}
	}
	return row
}

// only returns the part that has to do with some classes: their rows, and of the other rows the pairs with them.
func only(all dovetail.Neighbours, wanted func(class string) bool) dovetail.Neighbours {
	some := dovetail.Neighbours{Version: all.Version, Classes: []dovetail.KnownClass{}, Rows: []dovetail.NeighbourRow{}}
	for i, row := range all.Rows {
		if !wanted(row.Class) {
			row.Pairs = slices.DeleteFunc(row.Pairs, func(p dovetail.PairKnown) bool { return !wanted(p.Newcomer) })
			if len(row.Pairs) == 0 {
				continue
			}
		} else {
			some.Classes = append(some.Classes, all.Classes[i])
		}
		some.Rows = append(some.Rows, row)
	}
	return some
}

func (s *server) forget(ctx context.Context, class string) (*forgetOutput, error) {
	classes, _, _, err := s.known(ctx, true)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	var gone forgottenBody
	for i := range classes {
		k := &classes[i]
		met := metBy(k)
		switch {
		case class == "" || k.Class == class:
			if informed(k) {
				gone.Classes++
			}
			gone.Pairs += len(met)
		case slices.Contains(met, class):
			gone.Pairs++
		}
	}
	if class != "" && gone == (forgottenBody{}) {
		return nil, s.failure(ctx, unknownNeighbour(class, classes))
	}
	if err := s.engine.Tell(ctx, dovetail.Forgotten{Class: class}); err != nil {
		return nil, s.failure(ctx, err)
	}
	return &forgetOutput{Body: gone}, nil
}

// metBy returns the classes that a class has met, sorted.
func metBy(k *dovetail.KnownClass) []string {
	var met []string
	for i := range k.Preferences {
		met = append(met, k.Preferences[i].Class)
	}
	if k.Evidence != nil {
		for i := range k.Evidence.Rates {
			if beside := k.Evidence.Rates[i].Beside; beside != "" {
				met = append(met, beside)
			}
		}
	}
	slices.Sort(met)
	return slices.Compact(met)
}

// recall puts knowledge on record; with replace all else that was known is forgotten.
func (s *server) recall(ctx context.Context, in *knowledgeInput, replace bool) (*knowledgeOutput, error) {
	known, cfg, now, err := s.known(ctx, true)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	classes, err := s.readKnowledge(in.Raw, cfg, now)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	out := recalledBody{Recalled: len(classes)}
	for i := range known {
		if !informed(&known[i]) {
			continue
		}
		switch named := slices.ContainsFunc(classes, func(k dovetail.KnownClass) bool { return k.Class == known[i].Class }); {
		case named:
			out.Replaced++
		case replace:
			out.Forgotten++
		}
	}
	if replace || len(classes) > 0 {
		if err := s.engine.Tell(ctx, dovetail.Recalled{Classes: classes, All: replace}); err != nil {
			return nil, s.failure(ctx, err)
		}
	}
	return &knowledgeOutput{Body: out}, nil
}

func knowledgeRequest(schemas huma.Registry) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeFor[dovetail.Knowledge](), true, "Knowledge")}}
}
