package describe_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// documented returns the complete examples of the page for users, by their name.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "application.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(text, "apiVersion:") {
			continue
		}
		app, err := describe.Application([]byte(text), describe.Options{File: "docs/application.md"})
		if err != nil {
			t.Errorf("an example that is documented is wrong: %v\n%s", err, text)
			continue
		}
		texts[app.Name] = text
	}
	return texts
}

// examples returns the descriptions that ship with the project, by their file.
func examples(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "examples", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "apiVersion: "+dovetail.APIVersion) { // others configure something else
				texts[file] = string(text)
			}
		}
	}
	return texts
}

func TestDocumentedExamples(t *testing.T) {
	texts := documented(t)
	for _, name := range []string{"wordcount", "dask", "notebook"} {
		if _, ok := texts[name]; !ok {
			t.Errorf("docs/application.md has no complete example %s", name)
		}
	}
}

func TestDocumentedNodes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "application.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "```yaml\nnodes:")
	text, _, closed := strings.Cut("nodes:"+text, "```")
	nodes, err := describe.Nodes([]byte(text), "docs/application.md")
	if !ok || !closed || err != nil || len(nodes) != 2 {
		t.Errorf("the list of nodes that is documented: %v, %v", nodes, err)
	}
}

func TestExamples(t *testing.T) {
	texts := examples(t)
	for _, name := range []string{"notebook.yaml", "batch-script.yaml"} {
		if _, ok := texts[filepath.Join("..", "examples", name)]; !ok {
			t.Errorf("examples/%s is gone", name)
		}
	}
	for file, text := range texts {
		if _, err := describe.Application([]byte(text), describe.Options{File: file}); err != nil {
			t.Error(err)
		}
	}
}

// The page for users has a row for every field.
func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "application.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		prefix string
		typ    reflect.Type
	}{
		{"", reflect.TypeFor[dovetail.Application]()},
		{"target.", reflect.TypeFor[dovetail.Target]()},
		{"colocation.", reflect.TypeFor[dovetail.Affinity]()},
		{"", reflect.TypeFor[dovetail.Param]()},
		{"", reflect.TypeFor[dovetail.Component]()},
		{"", reflect.TypeFor[dovetail.Volume]()},
		{"", reflect.TypeFor[dovetail.Port]()},
		{"ready.", reflect.TypeFor[dovetail.Ready]()},
		{"restart.", reflect.TypeFor[dovetail.Restart]()},
		{"stop.", reflect.TypeFor[dovetail.Stop]()},
		{"remove.", reflect.TypeFor[dovetail.Remove]()},
		{"remove.http.", reflect.TypeFor[dovetail.HTTPCall]()},
	} {
		for i := range part.typ.NumField() {
			name, _, _ := strings.Cut(part.typ.Field(i).Tag.Get("json"), ",")
			if row := "| `" + part.prefix + name + "` |"; !strings.Contains(string(page), row) {
				t.Errorf("docs/application.md has no row %s", row)
			}
		}
	}
}
