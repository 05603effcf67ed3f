package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/dovetail-sched/dovetail"
)

// Nodes returns every node, by name.
func (c *Client) Nodes(ctx context.Context) ([]dovetail.NodeStatus, error) {
	var answer struct {
		Nodes []dovetail.NodeStatus `json:"nodes"`
	}
	err := c.get(ctx, "/v1/nodes", nil, &answer)
	return answer.Nodes, err
}

// Cordon says whether a node may get new replicas: on means that it may not. With drain it also gives back the elastic
// ones it has; its core replicas stay until their runs end.
func (c *Client) Cordon(ctx context.Context, node string, on, drain bool) error {
	name, err := segment("node", node)
	if err != nil {
		return err
	}
	verb := "/uncordon"
	switch {
	case on && drain:
		verb = "/drain"
	case on:
		verb = "/cordon"
	}
	_, err = c.call(ctx, http.MethodPost, "/v1/nodes/"+name+verb, nil, nil)
	return err
}

// Config returns the configuration in force.
func (c *Client) Config(ctx context.Context) (dovetail.Config, error) {
	var cfg dovetail.Config
	err := c.get(ctx, "/v1/config", nil, &cfg)
	return cfg, err
}

// Configure replaces the configuration.
func (c *Client) Configure(ctx context.Context, cfg dovetail.Config) error {
	_, err := c.call(ctx, http.MethodPut, "/v1/config", cfg, nil)
	return err
}

// Events returns the event records that match, in order of their position in the journal.
func (c *Client) Events(ctx context.Context, q EventQuery) ([]dovetail.EventRecord, error) {
	v := q.values()
	setInt(v, "limit", int64(q.Limit))
	var answer struct {
		Events []dovetail.EventRecord `json:"events"`
	}
	err := c.get(ctx, "/v1/events", v, &answer)
	return answer.Events, err
}

func (q EventQuery) values() url.Values {
	v := url.Values{}
	set(v, "run", q.Run)
	for _, t := range q.Types {
		v.Add("type", t)
	}
	setInt(v, "after", q.After)
	setInt(v, "tail", int64(q.Tail))
	return v
}

// Health says whether the daemon accepts work. A daemon that answers that it does not is no error.
func (c *Client) Health(ctx context.Context) (Health, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/readyz", nil)
	if err != nil {
		return Health{}, dovetail.Errorf(dovetail.Invalid, "GET /readyz: %v", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // drain closes it
	if err != nil {
		return Health{}, c.unreachable(ctx, err)
	}
	defer drain(resp.Body)
	answers := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusServiceUnavailable
	if !answers || resp.Header.Get("Content-Type") != "application/json" {
		return Health{}, c.refusal(resp)
	}
	var h Health
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxError)).Decode(&h); err != nil {
		return Health{}, dovetail.Errorf(dovetail.Internal, "%s answered with something else than its health (%v); is it a Dovetail daemon?", c.base, err)
	}
	return h, nil
}

// Version says what the daemon is.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var v Version
	err := c.get(ctx, "/v1/version", nil, &v)
	return v, err
}
