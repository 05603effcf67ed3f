package study

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

// compareGolden compares what an experiment gives with what was found good, and with -update takes it for good. The reason says when a
// difference is none to mend.
func compareGolden(t *testing.T, name, got, reason string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with go test ./study -run %s -update", err, t.Name())
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the evaluation differs from the golden (-want +got); if %s, -update rewrites it:\n%s", reason, diff)
	}
}
