package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// chooseOff is how people say that the policy alone decides; dovetail.Colocation says it with an empty word.
const chooseOff = "off"

// colocationSettings returns the settings of dovetail.Colocation. Their names are those of its fields; the seed of the draws is
// none of the other seeds.
func colocationSettings() []setting {
	of := func(c *dovetail.Config) *dovetail.Colocation { return &c.Colocation }
	return []setting{
		{
			"choose", "who starts next among the first of the line, by its neighbours: " + strings.Join(chooseNames(), ", "),
			func(c *dovetail.Config) string { return chooseText(c.Colocation.Choose) },
			func(c *dovetail.Config, s string) error {
				if s == chooseOff {
					s = ""
				}
				if s != "" {
					if _, err := coloc.Find(s); err != nil {
						return fmt.Errorf("choose %q: expected one of %s", s, strings.Join(chooseNames(), ", "))
					}
				}
				c.Colocation.Choose = s
				return nil
			},
		},
		count("window", "with choose: among how many of the first runs of the line; 0: 5",
			func(c *dovetail.Config) *int { return &of(c).Window }),
		count("passes", "with choose: a run that was passed over so often goes first; 0: 4 × window",
			func(c *dovetail.Config) *int { return &of(c).Passes }),
		number("step", "how far preferences move with each measurement, γ of the gradient bandit, up to 1; 0: 0.01",
			func(c *dovetail.Config) *float64 { return &of(c).Step }),
		length("period", "over which the use of nodes is measured; 0: 60s",
			func(c *dovetail.Config) *dovetail.Duration { return &of(c).Period }),
		number("slowdown", "a neighbour proven to make runs take so many times as long, such as 1.5, is avoided while there is an alternative; 0: none is",
			func(c *dovetail.Config) *float64 { return &of(c).Slowdown }),
		length("half-life", "what was learned of a pair fades by half in so long; 0: never",
			func(c *dovetail.Config) *dovetail.Duration { return &of(c).HalfLife }),
		count("classes", "job classes of which neighbours are known at once, idle ones are put away; 0: 256",
			func(c *dovetail.Config) *int { return &of(c).Classes }),
		{
			"draw-seed", "with choose: the number that the draws follow from",
			func(c *dovetail.Config) string { return strconv.FormatUint(c.Colocation.Seed, 10) },
			func(c *dovetail.Config, s string) error {
				v, err := strconv.ParseUint(s, 10, 64)
				if err != nil {
					return fmt.Errorf("draw-seed %q: expected a whole number that is not negative", s)
				}
				c.Colocation.Seed = v
				return nil
			},
		},
	}
}

// chooseNames returns the words for choose.
func chooseNames() []string {
	names := []string{chooseOff}
	for _, m := range coloc.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// chooseText names a way to choose for people.
func chooseText(name string) string {
	if name == "" {
		return chooseOff
	}
	return name
}

// count is a setting that is a whole number from 0 on.
func count(name, help string, field func(*dovetail.Config) *int) setting {
	return setting{
		name, help,
		func(c *dovetail.Config) string { return strconv.Itoa(*field(c)) },
		func(c *dovetail.Config, s string) error {
			v, err := strconv.Atoi(s)
			if err != nil || v < 0 {
				return fmt.Errorf("%s %q: expected a whole number from 0 on", name, s)
			}
			*field(c) = v
			return nil
		},
	}
}

// number is a setting that is a finite number from 0 on.
func number(name, help string, field func(*dovetail.Config) *float64) setting {
	return setting{
		name, help,
		func(c *dovetail.Config) string { return strconv.FormatFloat(*field(c), 'g', -1, 64) },
		func(c *dovetail.Config, s string) error {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || !(v >= 0) || math.IsInf(v, 1) {
				return fmt.Errorf("%s %q: expected a number from 0 on", name, s)
			}
			*field(c) = v
			return nil
		},
	}
}
