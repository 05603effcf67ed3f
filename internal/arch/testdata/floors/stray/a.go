package stray // want "this package is on no floor"
