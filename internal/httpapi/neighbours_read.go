package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// maxKnowledge is how many bytes of knowledge one request brings: one event of the journal.
const maxKnowledge = 32 << 20

// readKnowledge reads a dovetail.Knowledge and checks all of it, so that it can be put on record. Faults name the line.
func (s *server) readKnowledge(r Raw, cfg dovetail.Colocation, now time.Time) ([]dovetail.KnownClass, error) {
	if kind := mediaType(r.request); kind != "application/json" && kind != "" {
		return nil, unsupported(kind, "application/json")
	}
	data, err := s.bodyUpTo(r, maxKnowledge, "bring the job classes in several parts")
	if err != nil {
		return nil, err
	}
	classes, at, err := decodeKnowledge(data)
	if err != nil {
		return nil, err
	}
	cfg.Classes = max(len(classes), 1)
	book := coloc.New(cfg)
	first := make(map[string]int, len(classes))
	for i := range classes {
		k := &classes[i]
		k.Seen, k.Forgotten = k.Seen.UTC().Truncate(time.Microsecond), k.Forgotten.UTC().Truncate(time.Microsecond)
		field := fmt.Sprintf("classes[%d]", i)
		if j, twice := first[k.Class]; twice {
			return nil, faultAt(data, at[i], field, fmt.Sprintf("%s is classes[%d] already", k.Class, j))
		}
		first[k.Class] = i
		if err := book.Recall(now, classes[i:i+1]); err != nil {
			return nil, faultAt(data, at[i], field, err.Error())
		}
	}
	slices.SortFunc(classes, func(a, b dovetail.KnownClass) int { return strings.Compare(a.Class, b.Class) })
	return classes, nil
}

// knowledgeBody is a dovetail.Knowledge whose classes are read one by one.
type knowledgeBody struct {
	Version *int            `json:"version"`
	Classes json.RawMessage `json:"classes"`
}

// decodeKnowledge decodes a document of knowledge, and says at which offset each class of it begins.
func decodeKnowledge(data []byte) ([]dovetail.KnownClass, []int64, error) {
	var b knowledgeBody
	if err := strict(data, &b); err != nil {
		return nil, nil, err
	}
	switch {
	case b.Version == nil || b.Classes == nil:
		return nil, nil, faultAt(data, 0, "", `expected {"version": 1, "classes": […]}, as "dovetail neighbours export" writes it`)
	case *b.Version != dovetail.KnowledgeVersion:
		return nil, nil, faultAt(data, 0, "version", fmt.Sprintf("is %d; this program reads version %d", *b.Version, dovetail.KnowledgeVersion))
	}
	return decodeClasses(data, b.Classes)
}

// decodeClasses decodes the list of classes of a document.
func decodeClasses(data, list []byte) ([]dovetail.KnownClass, []int64, error) {
	base := int64(bytes.Index(data, list)) // the list is a part of the document as it stands
	dec := json.NewDecoder(bytes.NewReader(list))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, nil, faultAt(data, base, "classes", "expected a list")
	}
	classes, at := []dovetail.KnownClass{}, []int64{}
	for dec.More() {
		field := fmt.Sprintf("classes[%d]", len(classes))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, jsonFault(data, err)
		}
		begin := base + dec.InputOffset() - int64(len(raw))
		var k dovetail.KnownClass
		strictly := json.NewDecoder(bytes.NewReader(raw))
		strictly.DisallowUnknownFields()
		if err := strictly.Decode(&k); err != nil {
			return nil, nil, classFault(data, begin, field, err)
		}
		classes, at = append(classes, k), append(at, begin)
	}
	return classes, at, nil
}

// classFault says where in a document a class of it could not be decoded.
func classFault(data []byte, begin int64, field string, err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return faultAt(data, begin+kind.Offset, strings.TrimSuffix(field+"."+kind.Field, "."), fmt.Sprintf("expected %s, found %s", plainType(kind.Type), kind.Value))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return faultAt(data, begin, field, "expected an object")
	}
	return faultAt(data, begin, field, strings.TrimPrefix(err.Error(), "json: "))
}
