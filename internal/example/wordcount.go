package example

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	vocabulary   = 1000 // words that there are
	distinctLine = 512  // lines that there are
	lineLength   = 30   // words
)

// wordcount counts the words of a text whose words are distributed as Zipf found.
type wordcount struct {
	spec  Spec
	words []string
	lines [][]int  // numbers of words
	text  []string // the same as text
	total map[string]int64
}

func newWordcount(s Spec) job {
	j := &wordcount{spec: s, total: make(map[string]int64)}
	r := newStream(s.Seed, forLibrary)
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu")
	for n := range vocabulary {
		word := ""
		for rest := n + len(syllables); rest > 0; rest /= len(syllables) {
			word += syllables[rest%len(syllables)]
		}
		j.words = append(j.words, word)
	}
	for range distinctLine {
		line := make([]int, lineLength)
		for i := range line {
			line[i] = zipf(&r, vocabulary)
		}
		j.lines = append(j.lines, line)
		j.text = append(j.text, j.render(line))
	}
	return j
}

// zipf returns n with a probability that is nearly proportional to 1/(n+1).
func zipf(r *stream, size int) int {
	u := float64(r.next()>>11) / (1 << 53)
	return int(math.Pow(float64(size+1), u)) - 1
}

// render writes a line as an author would: with capitals and punctuation.
func (j *wordcount) render(line []int) string {
	var b strings.Builder
	for i, n := range line {
		w := j.words[n]
		if i%10 == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
		b.WriteString([]string{" ", " ", " ", ", ", " "}[i%5])
		if i%10 == 9 {
			b.WriteString(". ")
		}
	}
	return b.String()
}

func (j *wordcount) records() int { return 800 * j.spec.Grain }

func (j *wordcount) round(n int) (int, []byte) {
	if n > 0 {
		return 0, nil
	}
	return j.spec.Parts, nil
}

func (j *wordcount) task(_, part int, _ []byte) ([]byte, error) {
	counts := make(map[string]*int64)
	word := make([]byte, 0, 64)
	count := func() {
		if c, ok := counts[string(word)]; ok {
			*c++
		} else if len(word) > 0 {
			one := int64(1)
			counts[string(word)] = &one
		}
		word = word[:0]
	}
	draws(j.spec, part, j.records(), len(j.text), func(line int) {
		text := j.text[line]
		for i := range len(text) {
			switch c := text[i]; {
			case 'a' <= c && c <= 'z':
				word = append(word, c)
			case 'A' <= c && c <= 'Z':
				word = append(word, c+'a'-'A')
			default:
				count()
			}
		}
		count()
	})
	return json.Marshal(counts)
}

func (j *wordcount) reduce(_ int, results [][]byte) error {
	for part, data := range results {
		var counts map[string]int64
		if err := json.Unmarshal(data, &counts); err != nil {
			return fmt.Errorf("counts of part %d: %w", part, err)
		}
		for w, n := range counts {
			j.total[w] += n
		}
	}
	return nil
}

func (j *wordcount) digest() string { return digestCounts(j.total) }

// expected never looks at the text: it adds up the lines' words, times the lines' occurrences.
func (j *wordcount) expected() string {
	counts := make(map[string]int64)
	for line, times := range tally(j.spec, j.records(), len(j.lines)) {
		for _, n := range j.lines[line] {
			if times > 0 {
				counts[j.words[n]] += times
			}
		}
	}
	return digestCounts(counts)
}

func digestCounts(counts map[string]int64) string {
	var b []byte
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		b = fmt.Appendf(b, "%s %d\n", w, counts[w])
	}
	return digest(b)
}
