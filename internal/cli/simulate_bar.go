package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail/study"
)

// bar shows on a terminal how far a sweep has come; elsewhere it shows nothing.
type bar struct {
	e       *environment
	shown   bool
	started time.Time
	last    time.Time
}

// barWidth and barEvery are how wide it is, in characters, and how often it is drawn.
const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

func (e *environment) newBar() *bar { return &bar{e: e, started: e.now()} }

// show draws the bar.
func (b *bar) show(p study.Progress) {
	now := b.e.now()
	if !b.e.errScreen || b.e.format != text || now.Sub(b.last) < barEvery {
		return
	}
	b.last, b.shown = now, true
	fmt.Fprintf(b.e.err, "\r%s\x1b[K", barText(p, now.Sub(b.started)))
}

// barText is the bar with what is done, and how long the rest takes if it goes on like this.
func barText(p study.Progress, took time.Duration) string {
	full := int(p.Share * barWidth)
	line := fmt.Sprintf("%s%s %3.0f %%  %d of %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*p.Share,
		p.Done, plural(p.Total, "cell", "cells"))
	if p.Share > 0 && p.Share < 1 && took >= time.Second {
		line += ", " + span(time.Duration(float64(took)*(1-p.Share)/p.Share)) + " left"
	}
	return line
}

// leave wipes the bar away.
func (b *bar) leave() {
	if b.shown {
		fmt.Fprint(b.e.err, "\r\x1b[K")
	}
}
