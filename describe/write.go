package describe

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// Marshal writes an application as canonical YAML: equal applications give equal texts, and Application reads it back.
func Marshal(app *dovetail.Application) ([]byte, error) {
	n, err := nodeOf(app)
	if err != nil {
		return nil, fmt.Errorf("write application %s: %w", app.Name, err)
	}
	for _, c := range listOf(n, "components") {
		ports := entry(c, "ports")
		for i := 1; ports != nil && i < len(ports.Content); i += 2 {
			if p := ports.Content[i]; len(p.Content) == 2 { // the number only
				ports.Content[i] = p.Content[1]
			}
		}
	}
	params := entry(n, "params")
	for i := 0; params != nil && i < len(params.Content); i += 2 {
		if app.Params[params.Content[i].Value].Type == "string" {
			continue
		}
		if value := entry(params.Content[i+1], "default"); value != nil {
			value.Tag = "" // a number or boolean needs no quotes
		}
	}
	return dump(n)
}

// ToJSON writes v as indented JSON for people and programs.
func ToJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return b.Bytes(), nil
}

// ToYAML writes v as YAML with the names, the order and the values that its JSON has.
func ToYAML(v any) ([]byte, error) {
	n, err := nodeOf(v)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return dump(n)
}

func dump(n *yaml.Node) ([]byte, error) {
	out, err := yaml.Dump(n, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out, nil
}

// nodeOf returns the YAML node that says what v's JSON says.
func nodeOf(v any) (*yaml.Node, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(&b)
	dec.UseNumber()
	return nextNode(dec)
}

// nextNode reads one JSON value and keeps the order of its fields.
func nextNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		for dec.More() {
			child, err := nextNode(dec) // a field's name is a token like any text
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := dec.Token() // the closing bracket
		return n, err
	case string:
		return text(t), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(t)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
}

// text returns a scalar that is read back as exactly this text.
func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// entry returns the value of a mapping's field, or nil.
func entry(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// listOf returns the elements of a mapping's field that is a list.
func listOf(n *yaml.Node, name string) []*yaml.Node {
	if value := entry(n, name); value != nil && value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return nil
}
