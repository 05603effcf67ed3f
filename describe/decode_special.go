package describe

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// port decodes a bare number, or a mapping with port and url.
func (d *decoder) port(n *yaml.Node, v reflect.Value, field string) {
	switch n.Kind {
	case yaml.ScalarNode:
		d.integer(n, v.FieldByName("Port"), field)
	case yaml.MappingNode:
		d.structure(n, v, field)
	default:
		d.misread(n, field, "expected a port number or {port: …, url: …}, found %s", found(n))
	}
}

// resources decodes quantities, each by its kind.
func (d *decoder) resources(n *yaml.Node, v reflect.Value, field string) {
	var known []string
	for k := range dovetail.NumResources {
		known = append(known, k.String())
	}
	d.entries(n, field, func(key, value *yaml.Node) {
		for k := range dovetail.NumResources {
			if k.String() == key.Value {
				d.quantity(k, value, v.Index(int(k)), join(field, key.Value))
				return
			}
		}
		d.unknown(key, field, known)
	})
}

func (d *decoder) quantity(k dovetail.ResourceKind, n *yaml.Node, v reflect.Value, field string) {
	if !d.plain(n, field) {
		return
	}
	d.saw(field, n)
	if n.Kind != yaml.ScalarNode {
		d.misread(n, field, "expected a quantity such as 500m, 2 or 256Mi, found %s", found(n))
		return
	}
	q, err := dovetail.ParseQuantity(k, n.Value)
	if err != nil {
		d.misread(n, field, "%s", clipError(err))
		return
	}
	v.SetInt(q)
}

// bytes decodes an amount of data.
func (d *decoder) bytes(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.ScalarNode {
		d.misread(n, field, "expected a number of bytes, such as 24GB, 1.5TiB or 4096, found %s", found(n))
		return
	}
	size, err := dovetail.ParseSize(n.Value)
	if err != nil {
		d.misread(n, field, "%s", clipError(err))
		return
	}
	v.SetInt(size)
}

// time decodes a point in time.
func (d *decoder) time(n *yaml.Node, v reflect.Value, field string) {
	at, err := time.Parse(time.RFC3339, n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.misread(n, field, "expected a time such as 2026-05-01T18:00:00Z or 2026-05-01T20:00:00+02:00, found %s", found(n))
		return
	}
	v.Set(reflect.ValueOf(at.UTC()))
}

// unmarshaler decodes a scalar of a type that reads itself from JSON.
func (d *decoder) unmarshaler(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.ScalarNode {
		d.misread(n, field, "expected a single value, found %s", found(n))
		return
	}
	data, err := []byte(n.Value), error(nil)
	if n.Tag == "!!str" || !json.Valid(data) {
		data, err = json.Marshal(n.Value)
	}
	if err == nil {
		err = json.Unmarshal(data, v.Addr().Interface())
	}
	if err != nil {
		d.misread(n, field, "%s", clipError(err))
	}
}

// clipError shortens the message of an error that quotes what a stranger wrote.
func clipError(err error) string {
	const most = 400
	s := err.Error()
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
