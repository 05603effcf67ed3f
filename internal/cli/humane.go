package cli

import (
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
)

// span writes a duration for people: 0.4s, 12.3s, 2m05s, 3h20m, 5d4h.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d < 60*time.Second-50*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	d = d.Round(time.Hour)
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// ago writes a time that is past, as seen from now.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Second:
		return "just now"
	case d < 7*24*time.Hour:
		return span(d.Truncate(time.Second)) + " ago"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// moment writes a time exactly, and how long ago it is.
func moment(t *time.Time, now time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05") + " (" + ago(*t, now) + ")"
}

// waitedFor returns how long a run has waited, or waited, for its start.
func waitedFor(s *dovetail.RunStatus, now time.Time) time.Duration {
	switch {
	case s.Started != nil:
		return s.Started.Sub(s.Submitted)
	case s.Ended != nil:
		return s.Ended.Sub(s.Submitted)
	}
	return max(now.Sub(s.Submitted), 0)
}

// ranFor writes how long a run has been in service; "" if it never was.
func ranFor(s *dovetail.RunStatus, now time.Time) string {
	switch {
	case s.Started == nil:
		return ""
	case s.Ended != nil:
		return span(s.Ended.Sub(*s.Started))
	}
	return span(max(now.Sub(*s.Started), 0))
}

// capital makes a sentence begin with a capital letter.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// stateOf names what people would call the state of a run: how it ended, held, suspended, or the state itself.
func stateOf(s *dovetail.RunStatus) string {
	switch {
	case s.State == dovetail.Ended && s.Outcome != "":
		return string(s.Outcome)
	case s.State == dovetail.Queued && s.Held:
		return "held"
	case s.Suspended && (s.State == dovetail.Starting || s.State == dovetail.Running):
		return "suspended"
	}
	return string(s.State)
}

// stateStyle is the colour of a state.
func stateStyle(state string) style {
	switch state {
	case string(dovetail.Running):
		return green
	case string(dovetail.Starting), string(dovetail.Stopping):
		return cyan
	case string(dovetail.Queued), "held", "suspended":
		return yellow
	case string(dovetail.OutcomeFailed), string(dovetail.OutcomeLost), string(dovetail.OutcomeTimedOut):
		return red
	case string(dovetail.OutcomeCancelled):
		return dim
	}
	return plain
}

// reasonText says in few words why a run waits.
func reasonText(c dovetail.ReasonCode) string {
	switch c {
	case dovetail.NoReason:
		return ""
	case dovetail.OnHold:
		return "held; `dovetail release` lets it start"
	case dovetail.NoCapacity:
		return "its core does not fit now"
	case dovetail.NoNode:
		return "its core fits no node of this cluster"
	case dovetail.Behind:
		return "waits behind an earlier run"
	case dovetail.Saturated:
		return "the runs in service use all there is"
	case dovetail.WaitOverdue:
		return "a run that waited too long goes first"
	}
	return string(c)
}

// bytesText writes an amount of bytes for people.
func bytesText(n int64) string {
	const k = 1024.0
	v := float64(n)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if v < k || unit == "TiB" {
			if v < 10 && unit != "B" {
				return strconv.FormatFloat(v, 'f', 1, 64) + " " + unit
			}
			return strconv.FormatFloat(v, 'f', 0, 64) + " " + unit
		}
		v /= k
	}
	return ""
}

// plural writes a number and its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
