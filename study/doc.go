// Package study answers: what would other policies have made of this workload?
//
// A Sweep plays one workload under several configurations, and under several seeds. Each pair is a cell: one simulation on one
// core, and cells run side by side. What is kept of a cell has bounded size: its figures (report.Metrics) and, if asked for, what
// pictures are drawn from (report.Digest). Results do not depend on how many cells run at once, nor on which of them is done first.
package study
