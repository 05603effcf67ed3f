package client

import (
	"context"
	"net/http"

	"github.com/dovetail-sched/dovetail"
)

// Bounds of one import.
const (
	MaxImported    = 1000      // runs
	MaxImportBytes = 512 << 10 // of runs as JSON; the daemon takes somewhat more
)

// MaxHistory is how many finished runs one answer holds at most.
const MaxHistory = 1000

// ImportHistory adds finished runs that another system made to the history: all of them or none, at most MaxImported. It returns when
// the daemon has put them on record, and how many these were: those that are on record already are passed over unless force says that they are to
// count again.
func (c *Client) ImportHistory(ctx context.Context, runs []dovetail.Past, force bool) (imported int, err error) {
	body := struct {
		Runs  []dovetail.Past `json:"runs"`
		Force bool            `json:"force,omitempty"`
	}{runs, force}
	var answer struct {
		Imported int `json:"imported"`
	}
	_, err = c.call(ctx, http.MethodPost, "/v1/history", body, &answer)
	return answer.Imported, err
}
