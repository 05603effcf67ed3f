// Package good is what a test may say.
package good
