package report

// Measure is one figure of Metrics, by which settings are compared.
type Measure struct {
	Name  string // as in JSON
	Title string // for people
	Unit  string // "s", "%" for shares in [0,1], "" for counts and ratios
	Of    func(*Metrics) float64
}

// Measures returns the figures of Metrics that are compared over seeds, in the order in which they are shown.
func Measures() []Measure {
	return []Measure{
		{"runs", "runs that ended", "", func(m *Metrics) float64 { return float64(m.Runs) }},
		{"unfinished", "unfinished runs", "", func(m *Metrics) float64 { return float64(m.Unfinished) }},
		{"failed", "failed runs", "", func(m *Metrics) float64 { return float64(m.Failed) }},
		{"refused", "refused runs", "", func(m *Metrics) float64 { return float64(m.Refused) }},
		{"meanTurnaroundSeconds", "turnaround, mean", "s", func(m *Metrics) float64 { return m.MeanTurnaround }},
		{"p50TurnaroundSeconds", "turnaround, median", "s", func(m *Metrics) float64 { return m.P50Turnaround }},
		{"p90TurnaroundSeconds", "turnaround, p90", "s", func(m *Metrics) float64 { return m.P90Turnaround }},
		{"p95TurnaroundSeconds", "turnaround, p95", "s", func(m *Metrics) float64 { return m.P95Turnaround }},
		{"p99TurnaroundSeconds", "turnaround, p99", "s", func(m *Metrics) float64 { return m.P99Turnaround }},
		{"maxTurnaroundSeconds", "turnaround, longest", "s", func(m *Metrics) float64 { return m.MaxTurnaround }},
		{"meanQueueSeconds", "queueing, mean", "s", func(m *Metrics) float64 { return m.MeanQueue }},
		{"p50QueueSeconds", "queueing, median", "s", func(m *Metrics) float64 { return m.P50Queue }},
		{"p95QueueSeconds", "queueing, p95", "s", func(m *Metrics) float64 { return m.P95Queue }},
		{"maxQueueSeconds", "queueing, longest", "s", func(m *Metrics) float64 { return m.MaxQueue }},
		{"meanSlowdown", "slowdown, mean", "", func(m *Metrics) float64 { return m.MeanSlowdown }},
		{"p50Slowdown", "slowdown, median", "", func(m *Metrics) float64 { return m.P50Slowdown }},
		{"p95Slowdown", "slowdown, p95", "", func(m *Metrics) float64 { return m.P95Slowdown }},
		{"meanWaiting", "runs waiting, mean", "", func(m *Metrics) float64 { return m.MeanWaiting }},
		{"maxWaiting", "runs waiting, most", "", func(m *Metrics) float64 { return float64(m.MaxWaiting) }},
		{"meanServing", "runs in service, mean", "", func(m *Metrics) float64 { return m.MeanServing }},
		{"maxServing", "runs in service, most", "", func(m *Metrics) float64 { return float64(m.MaxServing) }},
		{"cpuAllocation", "cpu granted", "%", func(m *Metrics) float64 { return m.CPUAllocation }},
		{"memoryAllocation", "memory granted", "%", func(m *Metrics) float64 { return m.MemoryAllocation }},
		{"gpuAllocation", "gpu granted", "%", func(m *Metrics) float64 { return m.GPUAllocation }},
		{"diskAllocation", "disk granted", "%", func(m *Metrics) float64 { return m.DiskAllocation }},
		{"cpuElasticShare", "of the cpu granted: elastic", "%", func(m *Metrics) float64 { return m.CPUElasticShare }},
		{"memoryElasticShare", "of the memory granted: elastic", "%", func(m *Metrics) float64 { return m.MemoryElasticShare }},
		{"makespanSeconds", "makespan", "s", func(m *Metrics) float64 { return m.Makespan }},
		{"reclaims", "elastic replicas reclaimed", "", func(m *Metrics) float64 { return float64(m.Reclaims) }},
		{"redoneSeconds", "replica time lost", "s", func(m *Metrics) float64 { return m.Redone }},
		{"jainKind", "fairness between kinds", "", func(m *Metrics) float64 { return m.JainKind }},
		{"jainClass", "fairness between classes", "", func(m *Metrics) float64 { return m.JainClass }},
		{"jainUser", "fairness between users", "", func(m *Metrics) float64 { return m.JainUser }},
	}
}
