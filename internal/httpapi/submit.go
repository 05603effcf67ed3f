package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/engine"
)

// submitBody is the JSON body of a submission.
type submitBody struct {
	Spec   json.RawMessage `json:"spec"`
	Params json.RawMessage `json:"params"`
	Name   string          `json:"name"`
	User   string          `json:"user"`
	Key    string          `json:"key"`
	Hold   bool            `json:"hold"`
	Wait   bool            `json:"waitCapacity"`
	Input  int64           `json:"inputSize"`
}

// submitInput is a submission. The query parameters but dryRun go with a body that is a bare description.
type submitInput struct {
	Raw
	DryRun bool     `query:"dryRun" doc:"Say what would happen, and submit nothing"`
	Key    string   `header:"Idempotency-Key" doc:"Submitting the same again with the same key returns the first run"`
	Params []string `query:"param,explode" doc:"With a YAML body: a parameter as name=value"`
	Name   string   `query:"name" doc:"With a YAML body: the name of the run"`
	User   string   `query:"user" doc:"With a YAML body: on whose behalf"`
	Hold   bool     `query:"hold" doc:"With a YAML body: do not start it before it is released"`
	Wait   bool     `query:"waitCapacity" doc:"With a YAML body: accept it although its core fits no cluster known so far"`
	Input  int64    `query:"inputSize" minimum:"0" doc:"With a YAML body: bytes that the run reads, in place of what the description says"`
}

// submitOutput is the run's status after a submission, or the plan and the explanation after a dry run.
type submitOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     any
}

// dryRunBody is the answer to a dry run.
type dryRunBody struct {
	Plan        dovetail.Plan        `json:"plan" doc:"The decision that would follow"`
	Explanation dovetail.Explanation `json:"explanation" doc:"Why the run would be where it is then"`
	Warnings    []string             `json:"warnings,omitempty" doc:"What is odd about it, for people"`
}

// submittedBody is the run's status after a submission.
type submittedBody struct {
	dovetail.RunStatus
	Warnings []string `json:"warnings,omitempty" doc:"What is odd about it although it was accepted, for people"`
}

func (s *server) submit(ctx context.Context, in *submitInput) (*submitOutput, error) {
	sub, err := s.submission(in)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	odd, err := s.warnings(ctx, sub.App)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	if in.DryRun {
		plan, why, err := s.engine.DryRun(ctx, sub)
		if err != nil {
			return nil, s.failure(ctx, err)
		}
		return &submitOutput{Status: http.StatusOK, Body: dryRunBody{Plan: plan, Explanation: why, Warnings: odd}}, nil
	}
	run, created, err := s.engine.Submit(ctx, sub)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return &submitOutput{Status: status, Location: fmt.Sprintf("/v1/runs/%d", run.ID), Body: submittedBody{run, odd}}, nil
}

// submission reads and checks a submission.
func (s *server) submission(in *submitInput) (engine.Submission, error) {
	sub, text, given, err := s.readSubmission(in)
	if err != nil {
		return sub, err
	}
	return s.complete(sub, text, given)
}

// complete reads and checks the description of a submission and its parameters.
func (s *server) complete(sub engine.Submission, text []byte, given map[string]string) (engine.Submission, error) {
	if err := checkNames(sub); err != nil {
		return sub, err
	}
	description, err := s.specs.read(text)
	if err != nil {
		return sub, err
	}
	sub.App = description.app
	if sub.Params, err = describe.Params(sub.App, given); err != nil {
		return sub, err
	}
	sub.Digest, err = digest(description, sub)
	return sub, err
}

// readSubmission returns what was submitted, the text of the description and the parameters as given.
func (s *server) readSubmission(in *submitInput) (engine.Submission, []byte, map[string]string, error) {
	none := engine.Submission{}
	switch kind := mediaType(in.request); kind {
	case "application/yaml", "application/x-yaml", "text/yaml":
		text, err := s.body(in.Raw)
		if err != nil {
			return none, nil, nil, err
		}
		given, err := assignments(in.Params)
		sub := engine.Submission{Name: in.Name, User: in.User, Key: in.Key, Hold: in.Hold, Wait: in.Wait, Input: in.Input}
		return sub, text, given, err
	case "application/json", "":
		return s.readJSON(in)
	default:
		return none, nil, nil, unsupported(kind, "application/json, or application/yaml with the description alone")
	}
}

func (s *server) readJSON(in *submitInput) (engine.Submission, []byte, map[string]string, error) {
	none := engine.Submission{}
	if in.Params != nil || in.Name != "" || in.User != "" || in.Hold || in.Wait || in.Input != 0 {
		return none, nil, nil, dovetail.Errorf(dovetail.Invalid, "with a JSON body all but dryRun belongs into the body, not into the query")
	}
	data, err := s.body(in.Raw)
	if err != nil {
		return none, nil, nil, err
	}
	sub, text, given, err := decodeSubmission(data)
	if err != nil {
		return none, nil, nil, err
	}
	if sub.Key != "" && in.Key != "" && sub.Key != in.Key {
		return none, nil, nil, dovetail.Errorf(dovetail.Invalid, "the header Idempotency-Key and the member key differ; give one of them")
	}
	if sub.Key == "" {
		sub.Key = in.Key
	}
	return sub, text, given, nil
}

// decodeSubmission reads the JSON form of a submission: what it says, the text of the description, and the parameters.
func decodeSubmission(data []byte) (engine.Submission, []byte, map[string]string, error) {
	var b submitBody
	if err := strict(data, &b); err != nil {
		return engine.Submission{}, nil, nil, err
	}
	text, err := specText(data, b.Spec)
	if err != nil {
		return engine.Submission{}, nil, nil, err
	}
	given, err := stringMap(b.Params)
	return engine.Submission{Name: b.Name, User: b.User, Key: b.Key, Hold: b.Hold, Wait: b.Wait, Input: b.Input}, text, given, err
}

// specText returns the text of a description that is given as an object, or as a string that contains YAML or JSON.
func specText(body []byte, raw json.RawMessage) ([]byte, error) {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		return raw, nil
	case len(raw) > 0 && raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, jsonFault(body, err)
		}
		return []byte(text), nil
	}
	return nil, faultAt(body, 0, "spec", "expected the description of an application: an object, or a string that contains YAML")
}

// stringMap reads an object whose values are strings.
func stringMap(raw json.RawMessage) (map[string]string, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if err := object(raw, func(string, int64) error { return nil }); err != nil {
		return nil, under("params", err)
	}
	var m map[string]string
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, under("params", jsonFault(raw, err))
	}
	return m, nil
}

// under says that faults lie below a member; their lines would be those of the member's value.
func under(member string, err error) error {
	var p *Problem
	if !errors.As(err, &p) {
		return err
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		f.Line, f.Column, f.Field = 0, 0, strings.TrimSuffix(member+"."+f.Field, ".")
	}
	return p
}

// assignments reads parameters written as name=value.
func assignments(list []string) (map[string]string, error) {
	given := make(map[string]string, len(list))
	for _, a := range list {
		name, value, ok := strings.Cut(a, "=")
		if _, twice := given[name]; !ok || name == "" || twice {
			return nil, dovetail.Errorf(dovetail.Invalid, "param=%s: expected name=value, each name once", a)
		}
		given[name] = value
	}
	return given, nil
}

// Lengths in bytes.
const (
	maxName = 63
	maxUser = 128
	maxKey  = 256
)

var (
	runName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	digits  = regexp.MustCompile(`^[0-9]+$`)
)

// checkNames checks what is not part of the description.
func checkNames(s engine.Submission) error {
	var faults []dovetail.Fault
	add := func(field, message string) { faults = append(faults, dovetail.Fault{Field: field, Message: message}) }
	switch {
	case s.Name == "":
	case len(s.Name) > maxName || !runName.MatchString(s.Name):
		add("name", fmt.Sprintf("expected letters, digits and . _ - in between, %d at most", maxName))
	case digits.MatchString(s.Name):
		add("name", "must not be a number: numbers are the ids of runs")
	}
	if len(s.User) > maxUser || !printable(s.User) {
		add("user", fmt.Sprintf("expected printable text of %d bytes at most", maxUser))
	}
	if len(s.Key) > maxKey || !printable(s.Key) {
		add("key", fmt.Sprintf("expected printable text of %d bytes at most", maxKey))
	}
	if len(faults) == 0 {
		return nil
	}
	return &dovetail.Error{Code: dovetail.Invalid, Message: "the submission is not valid", Faults: faults}
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// digest identifies what was submitted, however it was written: two submissions with one key must have the same.
func digest(d *spec, s engine.Submission) (string, error) {
	data, err := json.Marshal(struct {
		App        []byte
		Params     map[string]string
		Name, User string
		Hold, Wait bool
		Input      int64 `json:",omitempty"` // absent, as it was before there was one
	}{d.digest[:], s.Params, s.Name, s.User, s.Hold, s.Wait, s.Input})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
