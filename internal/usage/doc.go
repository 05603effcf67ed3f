// Package usage answers: how were the nodes used that two or more job classes shared?
//
// A Source measures machines: this one by /proc (package local), or all of them by Prometheus (package prometheus). A Judge turns what it
// says into a dovetail.NodeUse: shares of what the machine has, and how much work stood still for I/O. A Service does so once a period beside a
// running engine, and tells it.
//
// Bandits learn for good from what they are told, so a machine of which anything is doubtful is left out of that period: its counters began
// anew, a value is no number, negative or beyond what can be, the reading is too old, or the clock jumped. A Fault says which; Stats counts
// them.
package usage
