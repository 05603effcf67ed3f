package report

// Measure is one figure of Metrics, by which settings are compared.
type Measure struct {
	Name  string // as in JSON
	Title string // for people
	Unit  string // "s", "%" for shares in [0,1], "" for counts and ratios
	Done  bool   // over the runs that did their work: where there is none, there is no figure
	Of    func(*Metrics) float64
}

// Measures returns the figures of Metrics that are compared over seeds, in the order in which they are shown.
func Measures() []Measure {
	return []Measure{
		{"runs", "runs that ended", "", false, func(m *Metrics) float64 { return float64(m.Runs) }},
		{"unfinished", "unfinished runs", "", false, func(m *Metrics) float64 { return float64(m.Unfinished) }},
		{"failed", "failed runs", "", false, func(m *Metrics) float64 { return float64(m.Failed) }},
		{"refused", "refused runs", "", false, func(m *Metrics) float64 { return float64(m.Refused) }},
		{"meanTurnaroundSeconds", "turnaround, mean", "s", true, func(m *Metrics) float64 { return m.MeanTurnaround }},
		{"p50TurnaroundSeconds", "turnaround, median", "s", true, func(m *Metrics) float64 { return m.P50Turnaround }},
		{"p90TurnaroundSeconds", "turnaround, p90", "s", true, func(m *Metrics) float64 { return m.P90Turnaround }},
		{"p95TurnaroundSeconds", "turnaround, p95", "s", true, func(m *Metrics) float64 { return m.P95Turnaround }},
		{"p99TurnaroundSeconds", "turnaround, p99", "s", true, func(m *Metrics) float64 { return m.P99Turnaround }},
		{"maxTurnaroundSeconds", "turnaround, longest", "s", true, func(m *Metrics) float64 { return m.MaxTurnaround }},
		{"meanQueueSeconds", "queueing, mean", "s", true, func(m *Metrics) float64 { return m.MeanQueue }},
		{"p50QueueSeconds", "queueing, median", "s", true, func(m *Metrics) float64 { return m.P50Queue }},
		{"p95QueueSeconds", "queueing, p95", "s", true, func(m *Metrics) float64 { return m.P95Queue }},
		{"maxQueueSeconds", "queueing, longest", "s", true, func(m *Metrics) float64 { return m.MaxQueue }},
		{"meanSlowdown", "slowdown, mean", "", true, func(m *Metrics) float64 { return m.MeanSlowdown }},
		{"p50Slowdown", "slowdown, median", "", true, func(m *Metrics) float64 { return m.P50Slowdown }},
		{"p95Slowdown", "slowdown, p95", "", true, func(m *Metrics) float64 { return m.P95Slowdown }},
		{"meanWaiting", "runs waiting, mean", "", false, func(m *Metrics) float64 { return m.MeanWaiting }},
		{"maxWaiting", "runs waiting, most", "", false, func(m *Metrics) float64 { return float64(m.MaxWaiting) }},
		{"meanServing", "runs in service, mean", "", false, func(m *Metrics) float64 { return m.MeanServing }},
		{"maxServing", "runs in service, most", "", false, func(m *Metrics) float64 { return float64(m.MaxServing) }},
		{"cpuAllocation", "cpu granted", "%", false, func(m *Metrics) float64 { return m.CPUAllocation }},
		{"memoryAllocation", "memory granted", "%", false, func(m *Metrics) float64 { return m.MemoryAllocation }},
		{"gpuAllocation", "gpu granted", "%", false, func(m *Metrics) float64 { return m.GPUAllocation }},
		{"diskAllocation", "disk granted", "%", false, func(m *Metrics) float64 { return m.DiskAllocation }},
		{"cpuElasticShare", "of the cpu granted: elastic", "%", false, func(m *Metrics) float64 { return m.CPUElasticShare }},
		{"memoryElasticShare", "of the memory granted: elastic", "%", false, func(m *Metrics) float64 { return m.MemoryElasticShare }},
		{"makespanSeconds", "makespan", "s", false, func(m *Metrics) float64 { return m.Makespan }},
		{"preemptions", "runs preempted", "", false, func(m *Metrics) float64 { return float64(m.Preemptions) }},
		{"reclaims", "elastic replicas reclaimed", "", false, func(m *Metrics) float64 { return float64(m.Reclaims) }},
		{"redoneSeconds", "replica time lost", "s", false, func(m *Metrics) float64 { return m.Redone }},
		{"jainKind", "fairness between kinds", "", true, func(m *Metrics) float64 { return m.JainKind }},
		{"jainClass", "fairness between classes", "", true, func(m *Metrics) float64 { return m.JainClass }},
		{"jainUser", "fairness between users", "", true, func(m *Metrics) float64 { return m.JainUser }},
	}
}

// has reports whether the cell has a figure of this measure.
func (m *Measure) has(c *Metrics) bool { return !m.Done || c.Runs > c.Failed }
