package dovetail

// Word is what the impure package imports.
type Word string
