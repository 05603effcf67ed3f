package trace

// Workload is what was read from a trace, or generated.
type Workload struct {
	Name    string
	Format  string
	Jobs    []Job    // ordered by Submit; those of one time as in the source
	Notices []string // what people should know about it: lines that were skipped, jobs that were reordered
}
