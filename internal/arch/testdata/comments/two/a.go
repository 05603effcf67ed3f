// Package two is described here.
package two // want "2 files have a package comment"
