// Package two is described here as well.
package two // want "2 files have a package comment"
