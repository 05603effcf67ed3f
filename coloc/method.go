package coloc

import (
	"fmt"
	"strings"
)

// Candidate is a run that could start now.
type Candidate struct {
	ID     ID
	Weight float64 // by how often it was passed over: positive; 1 if never
	Nodes  [][]ID  // classes on each of the nodes that its core would get, the best ones for it; a node without runs is empty. A class is there once for each run
}

// Share is an amount of a class.
type Share struct {
	ID     ID
	Amount float64
}

// Scene is what a choice is made in.
type Scene struct {
	Held   []Share     // nodes held by the runs in service, by class; a node counts for each run on it
	Work   []Share     // left to do, waiting and in service, by class: node-seconds at the usual pace
	Window []Candidate // in the order of the line; at least one
	prices []float64   // … of work, by ID; nil: not asked for yet
}

// Method is a way to use what is known.
type Method struct {
	Name string
	// Weigh writes the probability of each run in the window to be the next one; they sum to 1.
	Weigh func(b *Book, s *Scene, p []float64)
	// Score returns how much a newcomer of a class is wanted on a node with these runs, in [0,1]; 0.5 for an empty node, or if nothing is known. nil: all
	// nodes are alike.
	Score func(b *Book, s *Scene, newcomer ID, residents []ID) float64
}

// Methods returns every method, by name.
func Methods() []Method {
	return []Method{{Name: "bandit"}, {Name: "greedy"}, {Name: "price"}, {Name: "random"}}
}

// Find returns the method with this name; the error lists the names there are.
func Find(name string) (Method, error) {
	var names []string
	for _, m := range Methods() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Method{}, fmt.Errorf("unknown way to choose neighbours %q; expected one of %s", name, strings.Join(names, ", "))
}
