// Package engine answers: how does the core stay in step with what is on record and with what really runs?
//
// A [Turner] takes turns: it tells the core what happened, asks it what to do, and puts both on record in one append. The
// daemon and the simulator take the same turns. A [Roster] gives identities to what the core only counts. An [Engine] is the
// daemon's loop around them: one goroutine that owns the core, reads the inbox, answers callers, and brings everything
// back after a crash.
//
// The package also owns the seams to the outside: [Store] and [Reader] keep the past, [Backend] and [Runner] make the
// desired real. docs/invariants.md says what holds after every turn, docs/adr/0002 and 0003 why it is built like this.
package engine
