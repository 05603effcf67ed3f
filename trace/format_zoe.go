package trace

import "github.com/dovetail-sched/dovetail"

// zoeLines reads the files of Zoe's simulator: id, submit (s), core, elastic, runtime (s), and the processors and gibibytes of
// each component. Elastic is −1 for rigid applications. All components are alike, so they become one component here. The
// runtime is what policies are told, as Zoe's are.
type zoeLines struct {
	apps   apps
	fields [][]byte
}

func startZoe() decoder { return &zoeLines{apps: newApps()} }

func (*zoeLines) notices() []string { return nil }

func (z *zoeLines) line(text []byte) (j Job, ok bool, err error) {
	z.fields = fields(text, z.fields)
	f := z.fields
	if len(f) != 7 {
		return j, false, faultf("line", "it has %d columns; expected 7: id submit core elastic runtime cpu memory", len(f))
	}
	if j.ID, err = count("id", f[0], 0, maxID); err != nil {
		return j, false, err
	}
	if j.Submit, err = seconds("submit", f[1]); err != nil {
		return j, false, err
	}
	a, err := zoeShape(f)
	if err != nil {
		return j, false, err
	}
	j.Runtime = a.runtime
	j.App = z.apps.of(&a)
	return j, true, nil
}

// zoeShape reads the columns that make the application.
func zoeShape(f [][]byte) (a shape, err error) {
	core, err := count("core", f[2], 1, MaxReplicas)
	if err != nil {
		return a, err
	}
	elastic, err := count("elastic", f[3], -1, MaxReplicas-core)
	if err != nil {
		return a, err
	}
	if a.runtime, err = positive("runtime", f[4]); err != nil {
		return a, err
	}
	if a.each[dovetail.CPU], err = millicores("cpu", f[5]); err != nil {
		return a, err
	}
	if a.each[dovetail.Memory], err = gibibytes("memory", f[6]); err != nil {
		return a, err
	}
	if a.each.IsZero() {
		return a, faultf("cpu", "neither cpu nor memory is asked for; expected more than 0 of one of them")
	}
	a.kind = dovetail.Batch
	a.name, a.core, a.full = "zoe-elastic", int(core), int(core+elastic)
	if elastic <= 0 {
		a.name, a.full = "zoe-rigid", int(core)
	}
	return a, nil
}
