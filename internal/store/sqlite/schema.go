package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dovetail-sched/dovetail"
)

// migrations lead from one version of the schema to the next; PRAGMA user_version counts those that were applied. A
// migration that was published is never changed: add one.
//
// The SQL is kept to what other databases know too: times are microseconds since 1970 in UTC, JSON is TEXT, booleans are
// 0 and 1. Columns beside a JSON text repeat what questions filter by.
var migrations = []string{schema1, schema2, schema3}

const schema1 = `
-- One row. Records up to dropped are in the snapshot, those after it up to last are in the journal. It is written by the
-- same transaction as the records, so last is what was promised to the caller of Append.
CREATE TABLE bounds (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	dropped INTEGER NOT NULL,
	last    INTEGER NOT NULL
);
INSERT INTO bounds VALUES (1, 0, 0);

-- Descriptions, each once, however many runs there are of it. digest is the SHA-256 of spec in hexadecimal.
CREATE TABLE applications (
	id     INTEGER PRIMARY KEY,
	digest TEXT NOT NULL UNIQUE,
	spec   TEXT NOT NULL
);

-- The event of a submission is written without its application; app says which one it is, 0 none.
CREATE TABLE journal (
	seq     INTEGER PRIMARY KEY,
	at      INTEGER NOT NULL,
	version INTEGER NOT NULL,
	type    TEXT NOT NULL,
	run     INTEGER NOT NULL,
	app     INTEGER NOT NULL,
	data    TEXT NOT NULL,
	crc     INTEGER NOT NULL
);

-- Journal rows that were set aside, as they were found.
CREATE TABLE quarantine (
	id      INTEGER PRIMARY KEY,
	found   INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	at, version, type, run, app, data, crc
);

CREATE TABLE snapshots (
	seq     INTEGER PRIMARY KEY,
	version INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	state   TEXT NOT NULL,
	crc     INTEGER NOT NULL
);

CREATE TABLE runs (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL,
	class      TEXT NOT NULL,
	app        TEXT NOT NULL,
	username   TEXT NOT NULL,
	client_key TEXT NOT NULL,
	state      TEXT NOT NULL,
	outcome    TEXT NOT NULL,
	submitted  INTEGER NOT NULL,
	ended      INTEGER,
	status     TEXT NOT NULL
);
CREATE INDEX runs_by_name      ON runs (name, id);
CREATE INDEX runs_by_app       ON runs (app, id);
CREATE INDEX runs_by_user      ON runs (username, id) WHERE username <> '';
CREATE INDEX runs_by_key       ON runs (client_key, id) WHERE client_key <> '';
CREATE INDEX runs_by_state     ON runs (state, id);
CREATE INDEX runs_by_outcome   ON runs (outcome, id) WHERE outcome <> '';
CREATE INDEX runs_by_end       ON runs (ended, id) WHERE ended IS NOT NULL;
CREATE INDEX runs_by_class_end ON runs (class, ended, id) WHERE ended IS NOT NULL;
CREATE INDEX runs_by_app_end   ON runs (app, ended, id) WHERE ended IS NOT NULL;

-- Who asked for what: written once a run, beside runs so that a change of status does not write it again.
CREATE TABLE submissions (
	run  INTEGER PRIMARY KEY,
	app  INTEGER NOT NULL,
	spec TEXT NOT NULL
);

CREATE TABLE replicas (
	run           INTEGER NOT NULL,
	component     INTEGER NOT NULL,
	idx           INTEGER NOT NULL,
	attempt       INTEGER NOT NULL,
	cpu           INTEGER NOT NULL,
	memory_peak   INTEGER NOT NULL,
	bytes_read    INTEGER NOT NULL,
	bytes_written INTEGER NOT NULL,
	status        TEXT NOT NULL,
	PRIMARY KEY (run, component, idx, attempt)
) WITHOUT ROWID;

-- until is the time of the next placement of the same slot, or of the run's end; NULL while it holds. width is the class
-- of until - at, see widths in history.go.
CREATE TABLE placements (
	id        INTEGER PRIMARY KEY,
	run       INTEGER NOT NULL,
	component INTEGER NOT NULL,
	elastic   INTEGER NOT NULL,
	node      TEXT NOT NULL,
	n         INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	until     INTEGER,
	width     INTEGER NOT NULL
);
CREATE INDEX placements_by_slot ON placements (run, node, component, elastic);
CREATE INDEX placements_by_node ON placements (node, width, at) WHERE n > 0;

CREATE TABLE events (
	id   INTEGER PRIMARY KEY,
	seq  INTEGER NOT NULL,
	at   INTEGER NOT NULL,
	type TEXT NOT NULL,
	run  INTEGER NOT NULL,
	text TEXT NOT NULL,
	data TEXT
);
CREATE INDEX events_by_seq ON events (seq, id);
CREATE INDEX events_by_run ON events (run, seq, id);
`

const schema2 = `
-- Finished runs that another system made. Their ids are negative, each lower than the one before, so that ids order them and runs alike.
CREATE TABLE imported (
	id    INTEGER PRIMARY KEY,
	class TEXT NOT NULL,
	app   TEXT NOT NULL,
	ended INTEGER NOT NULL,
	past  TEXT NOT NULL
);
CREATE INDEX imported_by_end       ON imported (ended, id);
CREATE INDEX imported_by_class_end ON imported (class, ended, id);
CREATE INDEX imported_by_app_end   ON imported (app, ended, id);

-- Runs that were suspended at some time.
CREATE TABLE suspensions (run INTEGER PRIMARY KEY);
INSERT INTO suspensions SELECT DISTINCT run FROM events WHERE type = 'suspended';
`

const schema3 = `
-- Job classes that had to make room in the core, with what was known of them as neighbours.
CREATE TABLE put_away (
	class TEXT PRIMARY KEY,
	known TEXT NOT NULL
);
`

// migrate brings the schema to the version this program knows, one transaction a step. A newer schema is refused.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return dovetail.Errorf(dovetail.Invalid,
			"%s has schema %d, and this program knows schemas up to %d: a newer dovetail wrote it; use that one, or another state directory",
			path, version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		step := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA user_version = %d; COMMIT", migrations[version], version+1)
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("step %d of the schema: %w", version+1, err)
		}
	}
	return nil
}
