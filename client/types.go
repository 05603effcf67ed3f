package client

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// SubmitRequest asks for a run of an application.
type SubmitRequest struct {
	Spec   []byte            // the description, YAML or JSON, as the user wrote it
	Params map[string]string // values of its parameters
	Name   string            // of the run; empty: the daemon chooses one
	User   string            // on whose behalf
	Key    string            // idempotency key: submitting the same again with the same key returns the first run
	Hold   bool              // accept it, but do not start it before it is released
	Wait   bool              // accept it although its core fits no cluster known so far

	InputSize int64 // bytes that it reads; 0: what the description says
}

// Submitted is the answer to a submission.
type Submitted struct {
	dovetail.RunStatus
	Created  bool     `json:"created"`            // false: the key was used before, and this is that run
	Warnings []string `json:"warnings,omitempty"` // what is odd about it although it was accepted, for people
}

// DryRun is what a submission would lead to now.
type DryRun struct {
	Plan        dovetail.Plan        `json:"plan"`
	Explanation dovetail.Explanation `json:"explanation"`
	Warnings    []string             `json:"warnings,omitempty"` // what is odd about it, for people
}

// RunDetail is all there is to know about one run.
type RunDetail struct {
	Status   dovetail.RunStatus       `json:"status"`
	Run      *dovetail.Run            `json:"run"`
	Replicas []dovetail.ReplicaStatus `json:"replicas"`       // all it ever had, by component, index and attempt
	URLs     map[string]string        `json:"urls,omitempty"` // of replicas that are up, such as "notebook.0.ui"
}

// RunQuery selects runs; zero fields select all.
type RunQuery struct {
	States   []dovetail.State
	Outcomes []dovetail.Outcome
	Name     string // of the run or the application; a trailing * matches any ending
	User     string
	Key      string    // idempotency key, exactly
	Since    time.Time // submitted at or after
	Until    time.Time // submitted before
	Before   string    // RunPage.Next of the page before
	Limit    int       // runs a page; 0 means 100, at most 1000
}

// RunPage is one page of runs, newest first.
type RunPage struct {
	Runs []dovetail.RunStatus `json:"runs"`
	Next string               `json:"next,omitempty"` // RunQuery.Before of the next page; empty: this is the last one
}

// LogQuery selects the output of one replica.
type LogQuery struct {
	Component string // empty: the first component
	Index     int    // of the replica
	Attempt   int64  // 0: the newest
	Stream    string // stdout or stderr; empty: stdout
	From      int64  // bytes to skip
	Limit     int64  // bytes to return at most; 0: all there are
	Follow    bool   // go on until the replica ends
}

// EventQuery selects event records; zero fields select all.
type EventQuery struct {
	Run   string // number or name
	Types []string
	After int64 // only those after this position of the journal
	Tail  int   // of what is past only the last so many; 0: all; Watch also takes -1: none
	Limit int   // records to return at most; 0 means 1000; Watch has no limit
}

// HistoryQuery selects finished runs; zero fields select all.
type HistoryQuery struct {
	Class  string // job class, exactly
	App    string // name of the application, exactly
	Since  time.Time
	Until  time.Time      // ended before; with Before, also those that ended at this time and have a lower ID
	Before dovetail.RunID // of the last run of the page before
	Limit  int            // 0 means 100, at most 1000
	Replay bool           // with applications, and without usage and neighbours
	Learn  bool           // with applications and neighbours, and without usage: what predictions need
}

// WhatIfRequest is what would be done otherwise.
type WhatIfRequest struct {
	Config *dovetail.Config // in place of the one in force; nil: that stays
	Nodes  []dovetail.Node  // that would be added
	Submit *SubmitRequest   // what would be submitted; nil: nothing. Its key and what it says about holding are ignored
}

// Health says whether the daemon accepts work.
type Health struct {
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"` // why not
}

// Version says what the daemon is.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`  // version of Go it was built with
	API     string `json:"api"` // version of the HTTP API, such as v1
}
