package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// An inserter puts rows into one table, many with each statement: most of the cost of a small row is the call.
type inserter struct {
	columns int
	sizes   []sized // descending, the last is 1
	args    []any   // of the rows that wait
}

type sized struct {
	rows int
	stmt *sql.Stmt
}

// newInserter prepares INSERT INTO table (columns), with a conflict clause that may be empty.
func newInserter(ctx context.Context, conn *sql.Conn, table, columns, conflict string) (*inserter, error) {
	names := strings.Split(columns, ", ")
	row := "(?" + strings.Repeat(",?", len(names)-1) + ")"
	in := &inserter{columns: len(names)}
	for _, rows := range []int{64, 8, 1} {
		query := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s %s", table, columns, row+strings.Repeat(","+row, rows-1), conflict)
		stmt, err := conn.PrepareContext(ctx, query)
		if err != nil {
			in.close()
			return nil, fmt.Errorf("preparing to insert into %s: %w", table, err)
		}
		in.sizes = append(in.sizes, sized{rows: rows, stmt: stmt})
	}
	return in, nil
}

func (in *inserter) close() {
	for _, size := range in.sizes {
		_ = size.stmt.Close() // what failed before is what matters
	}
}

// add takes one row, and writes all that wait when there are enough of them.
func (in *inserter) add(ctx context.Context, row ...any) error {
	in.args = append(in.args, row...)
	if most := in.sizes[0]; len(in.args) == most.rows*in.columns {
		return in.flush(ctx)
	}
	return nil
}

// flush writes the rows that wait. Whatever happens, none wait afterwards.
func (in *inserter) flush(ctx context.Context) error {
	args := in.args
	defer func() {
		clear(in.args)
		in.args = in.args[:0]
	}()
	for _, size := range in.sizes {
		for n := size.rows * in.columns; len(args) >= n; args = args[n:] {
			if _, err := size.stmt.ExecContext(ctx, args[:n]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop forgets the rows that wait.
func (in *inserter) drop() {
	clear(in.args)
	in.args = in.args[:0]
}

// replacing returns the conflict clause that overwrites all columns but the key.
func replacing(key, columns string) string {
	var set []string
	for _, c := range strings.Split(columns, ", ") {
		if !strings.Contains(", "+key+", ", ", "+c+", ") {
			set = append(set, c+" = excluded."+c)
		}
	}
	return "ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(set, ", ")
}
