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
// the daemon has put them on record. Importing runs again counts them again.
func (c *Client) ImportHistory(ctx context.Context, runs []dovetail.Past) error {
	body := struct {
		Runs []dovetail.Past `json:"runs"`
	}{runs}
	_, err := c.call(ctx, http.MethodPost, "/v1/history", body, nil)
	return err
}
