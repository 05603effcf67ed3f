package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
)

// maxRange bounds the bytes of the answer to a Range request; the client asks again for more.
const maxRange = 4 << 20

// logsInput selects the output of one replica.
type logsInput struct {
	Raw
	RunInput
	Component string `query:"component" doc:"Name of the component; the first one if absent"`
	Index     int    `query:"index" minimum:"0" doc:"Of the replica"`
	Attempt   int64  `query:"attempt" minimum:"0" doc:"Which of the successive replicas with this index; the newest if absent"`
	Stream    string `query:"stream" enum:"stdout,stderr" default:"stdout"`
	Offset    int64  `query:"offset" minimum:"0" doc:"Bytes to skip"`
	Limit     int64  `query:"limit" minimum:"0" doc:"Bytes to return at most; all if absent"`
	Follow    bool   `query:"follow" doc:"Go on until the replica ends"`
	Range     string `header:"Range" doc:"One range of bytes with a first position, such as bytes=0-1023 (ignored with follow, offset or limit)"`
}

func (s *server) registerLogs(api huma.API) {
	op := operation(http.MethodGet, "/v1/runs/{id}/logs", "logs", "Show what a replica wrote", "runs")
	op.Metadata = map[string]any{streaming: true}
	op.Responses = map[string]*huma.Response{
		"200": text("What it wrote"),
		"206": text("The range that was asked for"),
		"416": {Description: "The range begins behind the end"},
	}
	huma.Register(api, op, s.readLog)
}

func (s *server) readLog(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	replica, err := s.replica(ctx, in)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	if s.logs == nil {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.NotFound, "this daemon keeps no logs"))
	}
	if first, length, ok := byteRange(in.Range); ok && !in.Follow && in.Offset == 0 && in.Limit == 0 {
		return s.logRange(ctx, replica, in.Stream, first, length)
	}
	ctx, stop := untilShutdown(ctx)
	log, err := s.logs.Log(ctx, replica, in.Stream, in.Offset, in.Limit, in.Follow)
	if err != nil {
		stop()
		return nil, s.failure(ctx, err)
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer stop()
		defer log.Close()
		h := in.writer.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Accept-Ranges", "bytes")
		in.writer.WriteHeader(http.StatusOK)
		s.copyLog(ctx, in.writer, log)
	}}, nil
}

// copyLog sends each piece as soon as it is there. A log that cannot be read to its end cuts the connection, so that the
// client does not take the beginning for the whole.
func (s *server) copyLog(ctx context.Context, w http.ResponseWriter, log io.Reader) {
	conn := http.NewResponseController(w)
	piece := make([]byte, 32<<10)
	_ = conn.Flush() // the headers: a silent replica may not write for long
	for {
		n, err := log.Read(piece)
		if n > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write(piece[:n]); err != nil {
				return
			}
			_ = conn.Flush()
		}
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return
		case err != nil:
			s.log.ErrorContext(ctx, "log cannot be read", "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// logRange answers a Range request. The length of the whole is not told: it may grow.
func (s *server) logRange(ctx context.Context, r dovetail.Replica, stream string, first, length int64) (*huma.StreamResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	log, err := s.logs.Log(ctx, r, stream, first, min(length, maxRange), false)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	defer log.Close()
	data, err := io.ReadAll(io.LimitReader(log, min(length, maxRange)))
	if err != nil {
		return nil, s.failure(ctx, fmt.Errorf("read log of run %d: %w", r.Run, err))
	}
	if len(data) == 0 {
		return nil, problem(http.StatusRequestedRangeNotSatisfiable, dovetail.Invalid,
			fmt.Sprintf("the log is not longer than %d bytes", first))
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "text/plain; charset=utf-8")
		hc.SetHeader("Accept-Ranges", "bytes")
		hc.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/*", first, first+int64(len(data))-1))
		hc.SetHeader("Content-Length", strconv.Itoa(len(data)))
		hc.SetStatus(http.StatusPartialContent)
		_, _ = io.Copy(hc.BodyWriter(), bytes.NewReader(data)) // the client has gone if it fails
	}}, nil
}

var oneRange = regexp.MustCompile(`^bytes=([0-9]{1,18})-([0-9]{0,18})$`)

// byteRange reads a Range header with one range that has a first position. All others may be ignored (RFC 9110 §14.2).
func byteRange(header string) (first, length int64, ok bool) {
	m := oneRange.FindStringSubmatch(header)
	if m == nil {
		return 0, 0, false
	}
	first, _ = strconv.ParseInt(m[1], 10, 64) // the expression leaves only digits that fit
	if m[2] == "" {
		return first, maxRange, true
	}
	last, _ := strconv.ParseInt(m[2], 10, 64)
	return first, last - first + 1, last >= first
}

// replica finds the replica whose output is meant.
func (s *server) replica(ctx context.Context, in *logsInput) (dovetail.Replica, error) {
	none := dovetail.Replica{}
	id, err := s.find(ctx, in.ID)
	if err != nil {
		return none, err
	}
	_, run, err := s.reader.Run(ctx, id)
	if err != nil {
		return none, err
	}
	component, err := componentOf(run, in.Component)
	if err != nil {
		return none, err
	}
	replicas, err := s.reader.Replicas(ctx, id)
	if err != nil {
		return none, err
	}
	found, ok := none, false
	for _, r := range replicas {
		if r.Replica.Component != component || r.Index != in.Index || (in.Attempt != 0 && r.Attempt != in.Attempt) {
			continue
		}
		if !ok || r.Attempt > found.Attempt {
			found, ok = r.Replica, true
		}
	}
	if !ok {
		return none, dovetail.Errorf(dovetail.NotFound,
			"run %d has had no such replica %s.%d yet; GET /v1/runs/%d lists its replicas", id, run.App.Components[component].Name, in.Index, id)
	}
	return found, nil
}

func componentOf(run *dovetail.Run, name string) (int, error) {
	if name == "" && len(run.App.Components) > 0 {
		return 0, nil
	}
	var names string
	for i, c := range run.App.Components {
		if c.Name == name {
			return i, nil
		}
		if i < 10 {
			names += " " + c.Name
		}
	}
	return 0, dovetail.Errorf(dovetail.NotFound, "run %d has no component %q; it has%s", run.ID, name, names)
}
