package cli

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal is the three standard streams, and what is known of the screens behind them.
type terminal struct {
	in       io.Reader
	out, err io.Writer

	inScreen  bool // in is a terminal: somebody can be asked
	outScreen bool // out is a terminal
	errScreen bool
	colours   bool // screens show colours
	size      func() (width, height int)
}

// system returns the terminal of this process.
func system() *terminal {
	colours := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inScreen:  term.IsTerminal(int(os.Stdin.Fd())),
		outScreen: term.IsTerminal(int(os.Stdout.Fd())),
		errScreen: term.IsTerminal(int(os.Stderr.Fd())),
		colours:   colours,
		size: func() (int, int) {
			width, height, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
				return cmp.Or(max(columns, 0), 100), 40
			}
			return width, height
		},
	}
}

// style is an SGR parameter (ECMA-48 §8.3.117).
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
	cyan   style = "36"
)

// runStyles are the colours of runs in live views: 256-colour codes that read well on black and on white.
var runStyles = [...]style{"38;5;67", "38;5;203", "38;5;34", "38;5;178", "38;5;133", "38;5;74", "38;5;208", "38;5;30", "38;5;98", "38;5;137"}

func runStyle(n int) style { return runStyles[n%len(runStyles)] }

// painter gives text a style, or leaves it as it is.
type painter func(style, string) string

func unpainted(_ style, s string) string { return s }

func painted(st style, s string) string {
	if st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// paint styles text for out.
func (t *terminal) paint(st style, s string) string {
	if t.outScreen && t.colours {
		return painted(st, s)
	}
	return s
}

// errPaint styles text for err.
func (t *terminal) errPaint(st style, s string) string {
	if t.errScreen && t.colours {
		return painted(st, s)
	}
	return s
}

// visible returns how many columns text takes on the screen: its characters without escape sequences.
func visible(s string) int {
	n := 0
	for len(s) > 0 {
		if size := escape(s); size > 0 {
			s = s[size:]
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		n++
	}
	return n
}

// escape returns the length of the escape sequence that s begins with, or 0.
func escape(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	end := strings.IndexByte(s, 'm')
	return end + 1
}

// clipLine shortens text to so many columns.
func clipLine(s string, width int) string {
	if visible(s) <= width {
		return s
	}
	var b strings.Builder
	for n := 0; len(s) > 0; {
		if size := escape(s); size > 0 {
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		if n < width-1 {
			b.WriteString(s[:size])
		} else if n == width-1 {
			b.WriteString("…")
		}
		s = s[size:]
		n++
	}
	return b.String()
}

// printable replaces control characters, so that what strangers wrote cannot steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}

// screen redraws lines in place.
type screen struct {
	out   io.Writer
	drawn int // lines on the screen
}

// draw replaces what was drawn before.
func (s *screen) draw(lines []string) error {
	var b strings.Builder
	if s.drawn == 0 {
		b.WriteString("\x1b[?25l")
	} else {
		b.WriteString("\x1b[" + strconv.Itoa(s.drawn) + "A")
	}
	for _, l := range lines {
		b.WriteString("\r" + l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	s.drawn = len(lines)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// leave ends drawing: what is drawn stays, and the cursor is shown again.
func (s *screen) leave() {
	if s.drawn > 0 {
		_, _ = io.WriteString(s.out, "\x1b[?25h")
		s.drawn = 0
	}
}
