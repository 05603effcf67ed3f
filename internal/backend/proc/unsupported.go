//go:build !linux

package proc

// The back-end needs cgroups, /proc, open file description locks and child subreapers.
var _ int = "package proc needs Linux"
