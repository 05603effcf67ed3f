package place

// heaped is an entry of a heap, whose first entry is before all others.
type heaped[T any] interface {
	*T
	before(o *T) bool
}

// sink restores a heap below position i, whose entry may have become a later one.
func sink[T any, P heaped[T]](h []T, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if P(&h[child]).before(&h[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// raise restores a heap above position i, whose entry is new.
func raise[T any, P heaped[T]](h []T, i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !P(&h[i]).before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}
