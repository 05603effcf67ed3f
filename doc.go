// Package dovetail is the vocabulary: which things are there, and what can happen to them?
//
// It holds data only. Applications are described, submitted as runs, and served on nodes by replicas of their
// components; what happens is an [Event], what should be is an [Action], and one decision is a [Plan]. Every other package
// speaks in these words; docs/ARCHITECTURE.md says who imports whom.
package dovetail
