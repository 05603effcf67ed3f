package httpapi_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

// TestDocs runs every command of docs/api.md in a shell, in order, and compares what they print where the page says it.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the commands of docs/api.md need curl")
	}
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, withLogs(t), func(o *httpapi.Options) { o.Forecasts = &seer{} })
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:```output\n(.*?)```\n)?").FindAllSubmatch(page, -1)
	if len(blocks) < 8 {
		t.Fatalf("found %d commands in docs/api.md, want all of them", len(blocks))
	}
	for _, b := range blocks {
		script, want := string(b[1]), bytes.TrimSpace(b[2])
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DOVETAIL_URL="+server.URL, "no_proxy=*")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s\nfailed: %v\n%s%s", script, err, out, errs.Bytes())
			continue
		}
		if len(want) > 0 && !bytes.Equal(bytes.TrimSpace(out), want) {
			t.Errorf("%s\nprinted %s\nthe page says %s", script, out, want)
		}
	}
}
