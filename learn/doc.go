// Package learn answers: what do finished runs teach about the runs to come?
//
// PastOf makes of the history of a run what predictions learn from, Samples what a model is fitted to, and a Learner fits a model
// whenever runs of a job class have ended and hands the core a table of it (dovetail.Fitted). Rows and Writer are the
// same history as a file.
package learn
