package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/learn"
)

// maxImported is how many runs one request imports: one event of the journal.
const maxImported = 1000

// importInput adds finished runs to the history. Its body is an importBody.
type importInput struct{ Raw }

type importBody struct {
	Runs  []json.RawMessage `json:"runs"`  // dovetail.Past
	Force bool              `json:"force"` // those that are on record already, too
}

type importOutput struct{ Body importedBody }

type importedBody struct {
	Imported int `json:"imported" doc:"How many runs were put on record"`
	Known    int `json:"known" doc:"How many were not, because they are on record already"`
}

func (s *server) registerHistory(api huma.API) {
	op := operation(http.MethodPost, "/v1/history", "import-history", "Import finished runs that another system made", "runs")
	op.Description = fmt.Sprintf("All of them or none, at most %d at once; the answer is sent when they are on record. They are learned from like runs of this one. "+
		"Runs that are on record already, in all their members but run, are passed over unless force is true.", maxImported)
	huma.Register(api, op, s.importRuns)
	describeBody(api.OpenAPI().Paths["/v1/history"].Post, importRequest(api.OpenAPI().Components.Schemas))
}

func (s *server) importRuns(ctx context.Context, in *importInput) (*importOutput, error) {
	all, force, err := s.readImport(in)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	s.importing.Lock() // or two requests with the same runs would both find that they are not on record
	defer s.importing.Unlock()
	fresh := all
	if !force {
		if fresh, err = learn.Unknown(ctx, s.reader, all); err != nil {
			return nil, s.failure(ctx, err)
		}
	}
	if len(fresh) > 0 {
		if err := s.engine.Tell(ctx, dovetail.Imported{Runs: fresh}); err != nil {
			return nil, s.failure(ctx, err)
		}
	}
	return &importOutput{Body: importedBody{Imported: len(fresh), Known: len(all) - len(fresh)}}, nil
}

func (s *server) readImport(in *importInput) (all []dovetail.Past, force bool, err error) {
	var b importBody
	if err := s.jsonBody(in.Raw, &b); err != nil {
		return nil, false, err
	}
	if n := len(b.Runs); n < 1 || n > maxImported {
		return nil, false, dovetail.Errorf(dovetail.Invalid, "%d runs; expected 1 to %d at once", n, maxImported)
	}
	runs := make([]dovetail.Past, len(b.Runs))
	for i, data := range b.Runs {
		p := &runs[i]
		member := fmt.Sprintf("runs[%d]", i)
		if err := strict(data, p); err != nil {
			return nil, false, under(member, err)
		}
		p.Ended = p.Ended.UTC().Truncate(time.Microsecond)
		if err := learn.Check(p); err != nil {
			wrong := faultAt(nil, 0, "", err.Error())
			return nil, false, under(member, wrong)
		}
	}
	return runs, b.Force, nil
}

func importRequest(schemas huma.Registry) map[string]*huma.MediaType {
	past := schemas.Schema(reflect.TypeFor[dovetail.Past](), true, "Past")
	least, most := 1, maxImported
	return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"runs"},
		Properties: map[string]*huma.Schema{
			"runs":  {Type: huma.TypeArray, Items: past, MinItems: &least, MaxItems: &most, Description: "Without the member run, and with overlaps in order of class"},
			"force": {Type: huma.TypeBoolean, Description: "Import also those that are on record already; they then count twice"},
		},
	}}}
}
