// Package client answers: how does a Go program talk to a Dovetail daemon?
//
// It speaks the HTTP API that docs/api.md describes; the dovetail command uses nothing else. Every failure is a
// *dovetail.Error: those the daemon reports keep their code, message and faults, and a daemon that cannot be reached is
// dovetail.Unavailable with a message that says what to do. Runs may be named by their number or by their name.
package client
