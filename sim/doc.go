// Package sim answers: what would have happened?
//
// Play takes a workload and a cluster and plays them against the very core and turn loop of the daemon. Nothing of a decision is
// written here a second time: sim knows machines, not policies. Cluster is those machines. It does what an [engine.Backend] is
// told (Do), in counts; but where a back-end reports by itself, it says on a virtual clock when something happens next (Next) and what
// (Due). It starts and stops replicas, lets runs progress by those they hold (a Model), and lets things break (Faults).
//
// Time is integer microseconds from a fixed epoch, and the order of what happens at one instant is defined. First the machines
// report, in one turn: what follows from the actions of the turn before, in the order of the actions; then nodes that go or come back,
// replicas that start or have stopped, replicas that fail, and runs that complete, each in order of their numbers. What follows
// from that at the same instant is the next turn, and so on. When the machines have nothing more to say, all that is submitted at that
// instant is one turn, in the order of the workload. If the core asked to be woken, the first turn then ends with a Tick. Same
// options and same workload: same journal, byte for byte. TestSimEqualsLive compares it with the daemon's.
//
// Runs on the same nodes may hold each other up (Interference), or share what the nodes have (Contention): then whatever changes one run,
// a new phase included, changes when its neighbours complete, from that instant on. With contention the machines can say how they were used
// in each period (Options.Measure); that comes before anything else that happens at the instant at which a period ends. Whoever learns from what happens takes part through Options.After: what it has to say after a turn is a
// further turn at the same instant, before anything else happens.
package sim
