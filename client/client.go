package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Limits on what is read from a daemon, so that a wrong URL cannot fill the memory.
const (
	maxAnswer = 256 << 20 // bytes of an answer
	maxError  = 1 << 20   // bytes of an error
)

// Client talks to one daemon. It is safe for concurrent use.
type Client struct {
	base  string // without a trailing slash
	token string
	http  *http.Client
	pause time.Duration // before the first attempt to reconnect a watch
}

// Option changes how a Client works.
type Option func(*Client)

// WithHTTPClient makes the client use h, for example with a transport of its own. Streams need h.Timeout to be 0.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithReconnect makes a watch that was cut off wait d before it connects again, and twice as long after each failure,
// up to 32 × d. The default is 250 ms.
func WithReconnect(d time.Duration) Option { return func(c *Client) { c.pause = d } }

// New returns a client of the daemon at this URL, such as http://127.0.0.1:7171. The token may be empty. A URL that is
// not one of http or https is a dovetail.Invalid error; nothing is sent yet.
func New(daemon, token string, opts ...Option) (*Client, error) {
	u, err := url.Parse(daemon)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return nil, dovetail.Errorf(dovetail.Invalid,
			"%q is not the URL of a daemon; expected something like http://127.0.0.1:7171", daemon)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, dovetail.Errorf(dovetail.Invalid, "the token contains a blank or a character outside ASCII; check where it comes from")
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), token: token, pause: 250 * time.Millisecond}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = &http.Client{Transport: transport()}
	}
	return c, nil
}

// transport keeps enough idle connections for many concurrent submissions to one daemon.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	t.ResponseHeaderTimeout = time.Minute
	return t
}

// get reads the JSON answer to a GET into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	_, err := c.call(ctx, http.MethodGet, path, nil, out)
	return err
}

// call sends body as JSON, unless it is nil, and reads the JSON answer into out, unless that is nil. It returns the status.
func (c *Client) call(ctx context.Context, method, path string, body, out any) (int, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return 0, fmt.Errorf("encode request %s %s: %w", method, path, err)
		}
	}
	return c.callWith(ctx, method, path, data, out)
}

// callWith sends a body as it is, unless it is nil, and reads the JSON answer into out, unless that is nil. It returns the status.
func (c *Client) callWith(ctx context.Context, method, path string, data []byte, out any) (int, error) {
	resp, err := c.send(ctx, method, path, data, nil) //nolint:bodyclose // drain closes it
	if err != nil {
		return 0, err
	}
	defer drain(resp.Body)
	if out == nil {
		return resp.StatusCode, nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return 0, dovetail.Errorf(dovetail.Internal,
			"%s answered %s %s with something else than expected (%v); is it a Dovetail daemon of this version?", c.base, method, path, err)
	}
	return resp.StatusCode, nil
}

// send makes a request and returns any answer below 400; all others become errors. The caller closes the body.
func (c *Client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s %s: %v", method, path, err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 400 {
		defer drain(resp.Body)
		return nil, c.refusal(resp)
	}
	return resp, nil
}

// drain reads what little may be left of a body, so that its connection can be used again, and closes it.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4096)
	body.Close()
}

// unreachable says that no answer came. A context that ended stays recognisable through errors.Is.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for the daemon at %s: %w", c.base, ctx.Err())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return dovetail.Errorf(dovetail.Unavailable,
		"no daemon answers at %s; start one with `dovetail serve`, or set DOVETAIL_URL (%v)", c.base, err)
}

// problem is an error as the daemon sends it (RFC 9457).
type problem struct {
	Detail string             `json:"detail"`
	Code   dovetail.ErrorCode `json:"code"`
	Faults []dovetail.Fault   `json:"faults"`
}

// refusal turns an answer of 400 or more into an error.
func (c *Client) refusal(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var p problem
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil || kind != "application/problem+json" || json.Unmarshal(data, &p) != nil || p.Code == "" {
		return dovetail.Errorf(codeOf(resp.StatusCode),
			"%s answered %s; is it a Dovetail daemon? DOVETAIL_URL names another one", c.base, resp.Status)
	}
	if p.Code == dovetail.Unauthorized && c.token == "" {
		p.Detail += "; set DOVETAIL_TOKEN"
	}
	return &dovetail.Error{Code: p.Code, Message: p.Detail, Faults: p.Faults}
}

// codeOf guesses what an answer means that is not one of the daemon's own.
func codeOf(status int) dovetail.ErrorCode {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return dovetail.Unauthorized
	case http.StatusNotFound:
		return dovetail.NotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return dovetail.Unavailable
	}
	if status < 500 {
		return dovetail.Invalid
	}
	return dovetail.Internal
}
