// Package coloc answers: which job classes are good neighbours?
//
// A Book is what is known of pairs of job classes: preferences that gradient bandits learn from the measured use of nodes (seed 000), and
// rates of progress that finished runs show (models.md 5.4). A Method turns the book into probabilities for the runs at the head of the
// waiting line, and into scores for the nodes a newcomer could get. Everything here is pure, deterministic and in memory.
package coloc
