package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/dovetail-sched/dovetail"
)

// NeighboursQuery selects pairs of job classes; zero fields select all that the daemon has at hand.
type NeighboursQuery struct {
	App     string // pairs with a job class of this application
	Class   string // in place of it: pairs with this job class
	PutAway bool   // also classes that did not run for long and made room for others
}

// Neighbours says which job classes run well beside which. Of what nothing is known it is a dovetail.NotFound error, unless everything was
// asked for.
func (c *Client) Neighbours(ctx context.Context, q NeighboursQuery) (dovetail.Neighbours, error) {
	v := url.Values{}
	set(v, "app", q.App)
	set(v, "class", q.Class)
	if q.PutAway {
		v.Set("putAway", "true")
	}
	var n dovetail.Neighbours
	err := c.get(ctx, "/v1/neighbours", v, &n)
	return n, err
}

// Company says who ran beside a run and what that cost it, or who runs beside it now.
func (c *Client) Company(ctx context.Context, id string) (dovetail.Company, error) {
	var answer dovetail.Company
	path, err := runPath(id, "/neighbours")
	if err != nil {
		return answer, err
	}
	err = c.get(ctx, path, nil, &answer)
	return answer, err
}

// Recalled says what became of knowledge that was brought from elsewhere.
type Recalled struct {
	Recalled  int `json:"recalled"`  // job classes that were put on record
	Replaced  int `json:"replaced"`  // … of which something else was known before
	Forgotten int `json:"forgotten"` // other classes, which were forgotten
}

// RecallNeighbours puts a dovetail.Knowledge, written as JSON, on record: it replaces what is known of the job classes that it names. With
// replace all else is forgotten. An error names the line that is wrong; then nothing has changed.
func (c *Client) RecallNeighbours(ctx context.Context, knowledge []byte, replace bool) (Recalled, error) {
	method := http.MethodPost
	if replace {
		method = http.MethodPut
	}
	var answer Recalled
	_, err := c.callWith(ctx, method, "/v1/neighbours", knowledge, &answer)
	return answer, err
}

// Forgotten says how much was forgotten.
type Forgotten struct {
	Classes int `json:"classes"` // job classes
	Pairs   int `json:"pairs"`
}

// ForgetNeighbours drops what is known of a job class and of others beside it; "" means all.
func (c *Client) ForgetNeighbours(ctx context.Context, class string) (Forgotten, error) {
	path := "/v1/neighbours"
	if class != "" {
		name, err := segment("job class", class)
		if err != nil {
			return Forgotten{}, err
		}
		path += "/" + name
	}
	var answer Forgotten
	_, err := c.call(ctx, http.MethodDelete, path, nil, &answer)
	return answer, err
}
