// Package describe answers: what does this text ask for, and what is wrong with it?
//
// It reads descriptions of applications, of nodes and of the daemon's configuration from YAML or JSON, strictly: whatever
// is not understood is a fault. All faults of a text are reported at once, each with its line, column and field, so that a
// text can be corrected in one go. What comes out has its defaults filled in and keeps every promise that docs/application.md
// makes; nobody needs to check it again.
package describe
