// Package httpapi answers: how do programs on other machines, or in other languages, use a daemon?
//
// It serves the engine and the read side as an HTTP API under /v1, described by an OpenAPI 3.1 document (openapi.yaml is
// the golden copy), with problem details (RFC 9457) for errors, server-sent events for live change, and metrics for
// Prometheus. It decides nothing: a handler translates a request into one call of the engine or of the reader, and the
// answer back. docs/api.md shows its use; package client is its counterpart.
package httpapi
