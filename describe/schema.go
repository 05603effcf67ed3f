package describe

import _ "embed"

//go:embed schema.json
var schemaText string

// Schema returns the JSON Schema (draft 2020-12) of application descriptions, for editors. It is the file schema.json of
// this package. It catches most mistakes while typing; Application catches all of them.
func Schema() []byte { return []byte(schemaText) }
