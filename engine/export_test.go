package engine

import (
	"fmt"
	"strings"
)

// RosterText writes every living replica, one a line.
func RosterText(r *Roster) string {
	var b strings.Builder
	for c, m := range r.all {
		s := m.status(c.spec)
		fmt.Fprintf(&b, "%s of run %d, attempt %d, on %s: %s", s.Name, m.id.Run, m.id.Attempt, m.post.node, s.State)
		if m.stage == ending {
			b.WriteString(" at once")
		}
		if m.post.frozen && m.stage == wanted {
			b.WriteString(", frozen")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TurnerOf returns the turner of an engine; only its loop, so only a hook, may use it.
func TurnerOf(e *Engine) *Turner { return e.turner }
