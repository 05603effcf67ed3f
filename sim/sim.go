// Package sim answers: what would have happened? It plays a workload against the very core and turn loop of the daemon.
package sim
