package cli

import (
	"fmt"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// neighbourly returns what there is to say of a run and its neighbours: how it came to start when it did, and who was beside it.
func neighbourly(s *dovetail.RunStatus, c *dovetail.Company) [][2]string {
	pairs := [][2]string{{"Passed over", passesText(s)}, {"Drawn", drawText(s.Draw)}}
	if c == nil {
		return pairs
	}
	const glimpse = 0.05 // seconds; who was there for less is not worth a line
	for i := range c.Beside {
		if c.Ended && c.Beside[i].Seconds < glimpse {
			continue
		}
		pairs = append(pairs, [2]string{"Beside", companionText(&c.Beside[i], c.Ended)})
	}
	return pairs
}

// passesText says how often others were started before a run that waits.
func passesText(s *dovetail.RunStatus) string {
	if s.Passes == 0 {
		return ""
	}
	return plural(s.Passes, "time", "times") + ", for runs that suit those in service better"
}

// drawText says by which draw a run started.
func drawText(d *dovetail.Draw) string {
	if d == nil {
		return ""
	}
	var text string
	switch {
	case d.Method == "due":
		text = "it had been passed over often enough, and went first"
	case len(d.Options) <= 1:
		text = fmt.Sprintf("by %s: no other of the first in line could start", printable(d.Method))
	default:
		text = fmt.Sprintf("by %s with %s, one of %d that could start", printable(d.Method), percent(d.Probability()), len(d.Options))
	}
	if len(d.Passed) > 0 {
		text += "; it passed over " + runsText(d.Passed)
	}
	if len(d.Beside) > 0 {
		text += "; beside " + printable(strings.Join(d.Beside, ", "))
		if d.Score > 0 {
			text += fmt.Sprintf(" (score %.2f; 0.5 is neither good nor bad)", d.Score)
		}
	}
	return text
}

// runsText names runs by their numbers.
func runsText(runs []dovetail.RunID) string {
	const most = 6
	var parts []string
	for i, r := range runs {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(runs)-most))
			break
		}
		parts = append(parts, fmt.Sprint(r))
	}
	noun := "runs "
	if len(runs) == 1 {
		noun = "run "
	}
	return noun + strings.Join(parts, ", ")
}

// companionText says who was beside a run, for how long, and what that cost.
func companionText(c *dovetail.Companion, ended bool) string {
	text := printable(c.Class)
	if len(c.Runs) > 0 {
		text += " (" + runsText(c.Runs) + ")"
	}
	switch {
	case !ended && c.Slowdown != nil:
		return text + fmt.Sprintf(" now; that makes it take %s times as long (%s to %s)", timesText(c.Slowdown.Times), timesText(c.Slowdown.Low), timesText(c.Slowdown.High))
	case !ended:
		return text + " now"
	}
	text += " for " + span(fromSeconds(c.Seconds))
	if len(c.Runs) > 1 {
		text += " in all"
	}
	switch {
	case !c.Known:
		return text + "; what that cost is not known yet"
	case c.Low > 0:
		return text + ", which cost it " + span(fromSeconds(c.Lost)) + " (" + betweenText(c.Low, c.High) + ")"
	case c.High < 0:
		return text + ", which saved it " + span(fromSeconds(-c.Lost)) + " (" + betweenText(-c.High, -c.Low) + ")"
	}
	return text + ", which cost it " + betweenText(c.Low, c.High) + ": too few runs to say more"
}

// betweenText writes an interval of seconds.
func betweenText(low, high float64) string {
	return span(fromSeconds(low)) + " to " + span(fromSeconds(high))
}
