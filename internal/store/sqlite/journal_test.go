package sqlite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/engine/storetest"
)

// anyApplication stands for the table of applications.
func anyApplication(int64) (*dovetail.Application, error) { return storetest.Application(), nil }

func encoded(t testing.TB, e dovetail.Event) row {
	t.Helper()
	var app int64
	if s, ok := e.(dovetail.Submitted); ok && s.Run != nil {
		app = 7
	}
	r, err := encodeRecord(engine.Record{Seq: 41, At: time.UnixMicro(1234567).UTC(), Event: e}, app)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRowsAreDamagedInAnyField changes one field at a time: the checksum must notice.
func TestRowsAreDamagedInAnyField(t *testing.T) {
	for _, test := range []struct {
		reason string
		damage func(r *row)
	}{
		{"another number", func(r *row) { r.seq++ }},
		{"another time", func(r *row) { r.at++ }},
		{"another format", func(r *row) { r.version++ }},
		{"another type", func(r *row) { r.typ = "released" }},
		{"another run", func(r *row) { r.run++ }},
		{"another application", func(r *row) { r.app = 9 }},
		{"one bit of the data", func(r *row) { r.data[0] ^= 1 }},
		{"the data cut short", func(r *row) { r.data = r.data[:len(r.data)-1] }},
		{"no data", func(r *row) { r.data = nil }},
		{"a letter moved from the type to the data", func(r *row) {
			r.data, r.typ = append([]byte{r.typ[len(r.typ)-1]}, r.data...), r.typ[:len(r.typ)-1]
		}},
		{"another checksum", func(r *row) { r.crc ^= 1 }},
	} {
		r := encoded(t, dovetail.Held{Run: 3})
		if _, err := decodeRow(r, anyApplication); err != nil {
			t.Fatalf("undamaged: %v", err)
		}
		named := r.seq
		test.damage(&r)
		_, err := decodeRow(r, anyApplication)
		if dovetail.CodeOf(err) != dovetail.Internal || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%s: %v; expected that record %d does not match its checksum", test.reason, err, named)
		}
	}
}

func TestRowsThatAreSoundAndWrong(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(r *row)
		code   dovetail.ErrorCode
	}{
		{"a newer format", func(r *row) { r.version = 2 }, dovetail.Invalid},
		{"a type nobody knows", func(r *row) { r.typ = "exploded" }, dovetail.Internal},
		{"data that is no JSON", func(r *row) { r.data = []byte("{") }, dovetail.Internal},
		{"an application of what is no submission", func(r *row) { r.app = 1 }, dovetail.Internal},
	} {
		r := encoded(t, dovetail.Held{Run: 3})
		test.change(&r)
		r.crc = r.checksum()
		_, err := decodeRow(r, anyApplication)
		if err == nil || dovetail.CodeOf(err) != test.code || !strings.Contains(err.Error(), "record 41") {
			t.Errorf("%s: %v; expected a %s error that names record 41", test.reason, err, test.code)
		}
	}
	lost := errors.New("lost")
	_, err := decodeRow(encoded(t, storetest.Events()[0]), func(int64) (*dovetail.Application, error) { return nil, lost })
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "record 41") {
		t.Errorf("a missing application: %v; expected that the error says so and names record 41", err)
	}
}

// FuzzDecodeRow feeds the decoder rows whose checksum is right, which the checksum cannot keep away: it must not panic,
// and what it accepts must come back the same when it is written again; none and an empty list or map are the same.
func FuzzDecodeRow(f *testing.F) {
	for _, e := range storetest.Events() {
		r := encoded(f, e)
		f.Add(r.seq, r.at, r.version, r.typ, r.run, r.app, r.data, true)
		f.Add(r.seq, r.at, r.version, r.typ, r.run, r.app, r.data, false)
	}
	f.Fuzz(func(t *testing.T, seq, at, version int64, typ string, run, app int64, data []byte, sound bool) {
		r := row{seq: seq, at: at, version: version, typ: typ, run: run, app: app, data: data}
		if sound {
			r.crc = r.checksum()
		}
		record, err := decodeRow(r, anyApplication)
		if err != nil {
			if !strings.Contains(err.Error(), "record ") {
				t.Fatalf("the error does not name the record: %v", err)
			}
			return
		}
		again, err := encodeRecord(record, app)
		if err != nil {
			return // such as a time in the year 10,000, which JSON reads and does not write
		}
		second, err := decodeRow(again, anyApplication)
		if err != nil {
			t.Fatalf("a record that was read and written cannot be read: %v", err)
		}
		if diff := cmp.Diff(record, second, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a record changed when it was read and written:\n%s", diff)
		}
	})
}
