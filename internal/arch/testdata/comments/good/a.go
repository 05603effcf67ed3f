// Package good answers: is one comment enough?
package good
