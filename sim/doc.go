// Package sim answers: what would have happened?
//
// Play takes a workload and a cluster and plays them against the very core and turn loop of the daemon. Nothing of a decision is
// written here a second time: sim knows machines, not policies. Cluster is those machines: an [engine.Backend] with a
// virtual clock, which deals in counts, starts and stops replicas, lets runs progress by the replicas they hold (a Model), and lets
// things break (Faults).
//
// Time is integer microseconds from a fixed epoch. What happens at one instant is one turn, in a defined order: first
// what follows from the actions of the turn before, in the order of the actions; then nodes that go or come back, replicas that start,
// stop or fail, and runs that complete, each in order of their numbers; then submissions, in order of the workload; last a Tick
// if the core asked to be woken. Then the core decides once, and what follows at the same instant is the next turn. Same options and
// same workload: same journal, byte for byte. TestSimEqualsLive compares that journal with the daemon's.
package sim
