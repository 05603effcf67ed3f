package predict

import (
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail/fit"
)

// form is the parametric model of all of Ernest, Bell and CoBell: a run at scale-out x with overlaps ov and an input of s times the
// reference size takes
//
//	f(x) (1 + Σ (a + b/x) ov) s^β   with   f(x) = θ₀ + θ₁/x + θ₂ ln x + θ₃ x
//
// where θ, a and b are not negative (seed 001, section III.B; Ernest, NSDI 2016). Two parts are extensions: the slowdowns by
// several classes of neighbours add up, and the runtime grows with a power of the size of the input.
type form struct {
	theta [4]float64
	slow  []float64 // a and b of each class in turn
	beta  float64
	sse   float64
}

// basis writes 1, 1/x, ln x, x.
func basis(x float64) [4]float64 { return [4]float64{1, 1 / x, math.Log(x), x} }

// alone returns f(x).
func (f *form) alone(x float64) float64 { return f.combine(basis(x)) }

// combine returns θ times a basis.
func (f *form) combine(b [4]float64) float64 {
	return f.theta[0] + float64(f.theta[1]*b[1]) + float64(f.theta[2]*b[2]) + float64(f.theta[3]*b[3])
}

// factor returns by how much overlaps, of as many classes as there are slowdowns, lengthen a run at x.
func (f *form) factor(x float64, over []float64) float64 {
	sum := 1.0
	for c := range len(f.slow) / 2 {
		sum += float64((f.slow[2*c] + f.slow[2*c+1]/x) * over[c])
	}
	return sum
}

// grown returns by how much an input of so many times the reference size lengthens a run.
func (f *form) grown(size float64) float64 {
	if f.beta == 0 || size == 1 {
		return 1
	}
	return math.Pow(size, f.beta)
}

// runtime returns what the form says of a point. A run whose scale-out varied does work at the rate 1/g(x) wherever it stands, so
// that it takes the harmonic mean of g over its time.
func (f *form) runtime(p *point, size float64) float64 {
	grown := f.grown(size)
	if p.steps == nil {
		return float64(f.combine(p.basis)*f.factor(p.x, p.over)) * grown
	}
	rate := 0.0
	for _, s := range p.steps {
		rate += s.part / float64(f.combine(s.basis)*f.factor(s.x, p.over))
	}
	return grown / rate
}

// longer returns by how much a point takes longer than a run without neighbours would, at its average scale-out, of an input of the
// reference size.
func (f *form) longer(p *point, size float64) float64 {
	if p.steps != nil {
		if ratio := f.runtime(p, size) / f.alone(p.x); positive(ratio) {
			return ratio
		}
	}
	return float64(f.factor(p.x, p.over) * f.grown(size))
}

// neighbours returns how many classes of neighbours the form knows: those of the points if it is to learn of neighbours.
func (d *samples) neighbours(beside bool) int {
	if beside {
		return len(d.classes)
	}
	return 0
}

// design returns the columns of the form. It is linear in the products of θ with 1, a and b: column 4c+j is the coefficient of θⱼ
// times 1 (c = 0), a of class k (c = 2k+1) or b of class k (c = 2k+2).
//
// A run whose scale-out varied has the mean of the rows of its steps, with the weights part·T²/g², T being its runtime by the form
// known so far (nil: all parts alike). As T is homogeneous of degree one in the g of its steps, this row both has the value T
// and is its derivative: repeating the fit is the method of Gauss and Newton.
func (d *samples) design(classes int, beta float64, known *form) [][]float64 {
	n, m := len(d.points), 4*(1+2*classes)
	buffer := make([]float64, n*m)
	columns := make([][]float64, m)
	for j := range columns {
		columns[j] = buffer[j*n : (j+1)*n : (j+1)*n]
	}
	one := [1]share{}
	shape := form{beta: beta}
	for i := range d.points {
		p := &d.points[i]
		grown := shape.grown(d.size(p))
		steps := p.steps
		if steps == nil {
			one[0] = share{p.x, 1, p.basis}
			steps = one[:]
		}
		total := 0.0
		if p.steps != nil && known != nil {
			total = known.runtime(p, 1)
		}
		for _, s := range steps {
			q := s.part
			if total > 0 {
				ratio := total / float64(known.combine(s.basis)*known.factor(s.x, p.over))
				q *= ratio * ratio
			}
			for j, v := range s.basis {
				v = float64(q*v) * grown
				columns[j][i] += v
				for c := range classes {
					columns[8*c+4+j][i] += float64(v * p.over[c])
					columns[8*c+8+j][i] += float64(v * p.over[c] / s.x)
				}
			}
		}
	}
	return columns
}

// starts returns values of a and b to begin from: none first, so that it is what remains where the data do not tell.
func starts(classes int) [][]float64 {
	if classes == 0 {
		return [][]float64{nil}
	}
	var all [][]float64
	for _, a := range []float64{0, 0.2, 1, 4} {
		for _, b := range []float64{0, 0.5, 3, 15} {
			slow := make([]float64, 0, 2*classes)
			for range classes {
				slow = append(slow, a, b)
			}
			all = append(all, slow)
		}
	}
	return all
}

const (
	rounds      = 8    // of alternation before the steps in all parameters at once
	roundsGain  = 1e-4 // relative gain below which alternation is left
	betterStart = 1e-9 // relative gain that a later start has to show
	revisits    = 40   // of runs whose scale-out varied, at most
	revisited   = 1e-9 // relative change of their runtimes that ends it
)

// fit fits the parameters for one growth with the input, from each start: alternation of two exact non-negative least squares
// problems (θ for given a and b, and the reverse), then bounded Gauss-Newton in all of them; the best of the starts.
func (d *samples) fit(classes int, beta float64, o Options, from [][]float64) (*form, error) {
	f, err := d.fitOnce(classes, beta, o, from, nil)
	if err != nil || !d.varied() {
		return f, err
	}
	for range revisits {
		next, err := d.fitOnce(classes, beta, o, [][]float64{f.slow}, f)
		if err != nil {
			return nil, err
		}
		moved := d.moved(f, next)
		f = next
		if moved <= revisited {
			break
		}
	}
	return f, nil
}

func (d *samples) varied() bool {
	return slices.ContainsFunc(d.points, func(p point) bool { return p.steps != nil })
}

// moved returns by how much the runtimes of runs with a varied scale-out differ between two forms, relatively.
func (d *samples) moved(f, g *form) float64 {
	most := 0.0
	for i := range d.points {
		if p := &d.points[i]; p.steps != nil {
			most = max(most, math.Abs(g.runtime(p, d.size(p))/f.runtime(p, d.size(p))-1))
		}
	}
	return most
}

func (d *samples) fitOnce(classes int, beta float64, o Options, from [][]float64, known *form) (*form, error) {
	y := make([]float64, len(d.points))
	for i, p := range d.points {
		y[i] = p.y
	}
	columns, right, err := fit.Compress(d.design(classes, beta, known), y, d.weights(o))
	if err != nil {
		return nil, err
	}
	var best *form
	for _, slow := range from {
		b := bilinear{columns: columns, y: right, form: form{slow: slices.Clone(slow), beta: beta}}
		if err := b.minimise(); err != nil {
			return nil, err
		}
		if best == nil || b.form.sse < float64((1-betterStart)*best.sse) {
			best = &b.form
		}
	}
	return best, nil
}

// bilinear is the least squares problem of a form: θᵀM(1, a, b, …) = y, with M in columns.
type bilinear struct {
	columns [][]float64
	y       []float64
	form    form
}

// times returns the coefficient of θⱼ for the present a and b.
func (b *bilinear) times(j int, slow, out []float64) []float64 {
	copy(out, b.columns[j])
	for c, s := range slow {
		if s == 0 {
			continue
		}
		for i, v := range b.columns[4*(c+1)+j] {
			out[i] += float64(s * v)
		}
	}
	return out
}

// sum returns θᵀ times block c of the columns.
func (b *bilinear) sum(c int, theta, out []float64) []float64 {
	clear(out)
	for j, t := range theta {
		if t == 0 {
			continue
		}
		for i, v := range b.columns[4*c+j] {
			out[i] += float64(t * v)
		}
	}
	return out
}

func (b *bilinear) minimise() error {
	f, n := &b.form, len(b.y)
	last := math.Inf(1)
	for range rounds {
		lines := make([][]float64, 4)
		for j := range lines {
			lines[j] = b.times(j, f.slow, make([]float64, n))
		}
		s, err := fit.NNLS(lines, b.y, nil)
		if err != nil {
			return err
		}
		copy(f.theta[:], s.X)
		f.sse = s.SSE
		if len(f.slow) == 0 {
			return nil
		}
		if err := b.solveSlow(); err != nil {
			return err
		}
		if last-f.sse <= float64(roundsGain*last) && !math.IsInf(last, 1) {
			break
		}
		last = f.sse
	}
	return b.polish()
}

// solveSlow solves for a and b.
func (b *bilinear) solveSlow() error {
	f, n := &b.form, len(b.y)
	lines := make([][]float64, len(f.slow))
	for c := range lines {
		lines[c] = b.sum(c+1, f.theta[:], make([]float64, n))
	}
	rest := b.sum(0, f.theta[:], make([]float64, n))
	for i, v := range b.y {
		rest[i] = v - rest[i]
	}
	s, err := fit.NNLS(lines, rest, nil)
	if err != nil {
		return err
	}
	copy(f.slow, s.X)
	f.sse = s.SSE
	return nil
}

// polish descends in all parameters at once.
func (b *bilinear) polish() error {
	f := &b.form
	bounds := make([]fit.Bounds, 4+len(f.slow))
	for j := range bounds {
		bounds[j].High = math.Inf(1)
	}
	scratch := make([]float64, len(b.y))
	x, sse, err := fit.BoundedLeastSquares(func(x, r []float64, jacobian [][]float64) {
		theta, slow := x[:4], x[4:]
		clear(r)
		for j, t := range theta {
			line := scratch
			if jacobian != nil {
				line = jacobian[j]
			}
			for i, v := range b.times(j, slow, line) {
				r[i] += float64(t * v)
			}
		}
		for i, v := range b.y {
			r[i] -= v
		}
		if jacobian != nil {
			for c := range slow {
				b.sum(c+1, theta, jacobian[4+c])
			}
		}
	}, len(b.y), append(slices.Clone(f.theta[:]), f.slow...), bounds)
	if err != nil {
		return err
	}
	if sse < f.sse {
		copy(f.theta[:], x[:4])
		copy(f.slow, x[4:])
		f.sse = sse
	}
	return nil
}
