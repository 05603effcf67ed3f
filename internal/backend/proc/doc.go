// Package proc answers: how do replicas run as plain processes of this machine, and outlive the daemon that started them?
//
// # The shim
//
// Every replica has a shim: this program, started again with another first argument (see [Shim]). The shim is the parent
// of the replica's process and the reaper of all its descendants. It puts them into a cgroup, writes their output to rotated
// files, stops them when asked, and writes down how they ended. It has its own session and no pipe to the daemon, so the
// daemon may die at any time. All that daemon and shim know of each other is in the replica's record:
//
//	DIR/id                        names this state directory in cgroups and environment markers
//	DIR/logs/NAME/                what the replica wrote; stays until Prune
//	DIR/replicas/NAME/spec.json   what to start, all references resolved        by the daemon, before the shim is spawned
//	DIR/replicas/NAME/control.json  the wanted state: frozen, stopping          by the daemon, followed by SIGUSR1
//	DIR/replicas/NAME/lock        locked while a shim lives; says which one it is  by the shim, first of all
//	DIR/replicas/NAME/started.json  pid, start time and boot id of the process  by the shim, before the process runs the command
//	DIR/replicas/NAME/ready       exists when the replica was ready             by the daemon
//	DIR/replicas/NAME/exit.json   how it ended, and what it used                by the shim, after the last process is gone
//	DIR/replicas/NAME/work/       working directory, unless the description names one
//
// NAME is run-component-index-attempt. Each file is written beside its place and renamed into it: it is there as a whole, or
// not at all.
//
// # The protocol
//
// A replica is started at most once, whoever dies when. The lock is an open file description lock, which the kernel
// releases when the shim dies, whatever kills it. Whoever does not hold it may look at it without touching it. The daemon
// looks at the lock first and at the files afterwards, so what it sees is never older than what the lock says:
//
//	exit.json                      it ended: report it
//	locked                         its shim lives: adopt it; if there is no started.json yet, wait for it
//	spec.json of an earlier boot   the machine went down with it: lost
//	free, started.json             its shim was killed: kill what is left, write exit.json (lost) under the lock
//	free, nothing but spec.json    it was never started: spawn a shim
//
// Two shims may be spawned for one replica, when the daemon dies right after it spawned the first. Only the one that gets
// the lock goes on, and only if it finds neither started.json nor exit.json. The command is run by a second stage of the shim:
// a child that joins the cgroups, waits until started.json is written, and then becomes the command; if the shim dies before
// that, the child ends too. Signals go only to a shim that holds its lock and whose start time is the recorded one, so never
// to a process that got its pid later.
//
// A shim that cannot write exit.json, because the disk is full, keeps its lock and tries until it can.
//
// Whoever stops a replica writes control.json and signals the shim; the shim runs the hook, sends the stop signal, waits
// for the grace period, and kills. So a stop goes on when the daemon dies in the middle of it. When the main process ends, by
// itself or not, the rest of the tree is killed.
//
// The daemon must run on in its own service when a service manager stops it: with systemd, KillMode=process.
package proc
