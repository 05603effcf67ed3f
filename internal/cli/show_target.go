package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// foretold returns what there is to say of a run's target and of what was predicted: the wish, what was chosen for it, what was
// expected, and what came of both.
func foretold(d *client.RunDetail, now time.Time) [][2]string {
	s := &d.Status
	return [][2]string{
		{"Target", targetText(d, now)},
		{"Chosen", choiceText(s.Choice)},
		{"Predicted", predictionText(s, now)},
		{"Outcome", closedText(s)},
	}
}

// targetText says what a run is to meet.
func targetText(d *client.RunDetail, now time.Time) string {
	text := ""
	if d.Run != nil && d.Run.App != nil {
		app := d.Run.App
		if app.Target != nil {
			text = "runs for " + secondsText(time.Duration(app.Target.Runtime).Seconds()) + " at the most"
		}
		if app.FinishBy != nil {
			if text != "" {
				text += ", and "
			}
			text += "is done by " + app.FinishBy.Local().Format("2006-01-02 15:04:05")
		}
	}
	c := d.Status.Choice
	if c == nil {
		return text
	}
	if text == "" {
		text = "is done in time"
	}
	text += ", with " + percent(c.Confidence)
	if d.Status.State != dovetail.Ended && !c.Deadline.IsZero() {
		if left := c.Deadline.Sub(now); left >= 0 {
			text += "; " + span(left) + " left"
		} else {
			text += "; overdue for " + span(-left)
		}
	}
	return text
}

// choiceText says which scale-out was chosen, by what, and what it promises.
func choiceText(c *dovetail.Choice) string {
	if c == nil {
		return ""
	}
	size := plural(c.ScaleOut, "replica", "replicas")
	switch c.Model {
	case "max":
		return size + ", all that it can use: nothing is known of its runtimes yet"
	case "bootstrap":
		return fmt.Sprintf("%s, to try that out: %s known yet", size, plural(c.Runs, "run is", "runs are"))
	}
	text := size
	switch {
	case c.Missed && c.Known:
		text += ", all that it can use: that meets it with " + percent(c.Probability) + ", less than wanted"
	case c.Missed:
		text += ", all that it can use: no scale-out is expected to meet it"
	case c.Known:
		text += "; it is then met with " + percent(c.Probability)
	}
	return fmt.Sprintf("%s (%s, from %s)", text, printable(c.Model), plural(c.Runs, "run", "runs"))
}

// ranSince returns how long a run has run, or ran, since all of its core was ready; 0 if it never was.
func ranSince(s *dovetail.RunStatus, now time.Time) time.Duration {
	from := s.Ready
	if from == nil {
		from = s.Started
	}
	switch {
	case from == nil:
		return 0
	case s.Ended != nil:
		return max(s.Ended.Sub(*from), 0)
	}
	return max(now.Sub(*from), 0)
}

// predictionText says what was expected when the run started, and what it took.
func predictionText(s *dovetail.RunStatus, now time.Time) string {
	p := s.Prediction
	if p == nil {
		return ""
	}
	text := secondsText(p.Median)
	if p.Low < p.High {
		text += " (" + bandText(p.Low, p.High) + " in 80 % of runs)"
	}
	text += fmt.Sprintf(" with %s, from %s", plural(p.ScaleOut, "replica", "replicas"), plural(p.Runs, "run", "runs"))
	took := ranSince(s, now).Seconds()
	switch {
	case took <= 0:
		return text
	case s.Ended == nil:
		return text + "; so far " + secondsText(took)
	case s.Outcome != dovetail.OutcomeSucceeded:
		return text + "; it ended after " + secondsText(took)
	}
	text += "; it took " + secondsText(took)
	off := took/p.Median - 1
	switch by := percent(math.Abs(off)); {
	case by == "0 %" || by == "< 0.1 %":
		return text + ", just that"
	case off > 0:
		return text + ", " + by + " longer"
	default:
		return text + ", " + by + " shorter"
	}
}

// closedText says whether a run met its target.
func closedText(s *dovetail.RunStatus) string {
	c := s.Choice
	if c == nil || c.Closed == "" || s.Ended == nil {
		return ""
	}
	switch by := s.Ended.Sub(c.Deadline); c.Closed {
	case "met":
		return "target met, " + secondsText((-by).Seconds()) + " early"
	case "missed":
		return "target missed by " + secondsText(by.Seconds())
	case "failed":
		return "the run failed before its target"
	case "abandoned":
		return "the run was cancelled before its target"
	}
	return printable(c.Closed)
}
