package example

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// notebook serves a page until the context ends: a stand-in for an application that a person works with.
func notebook(ctx context.Context, l net.Listener, log *slog.Logger) error {
	start := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><title>Notebook</title><h1>Notebook</h1><p>In [1]: up for %d s</p>\n", int(time.Since(start).Seconds()))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	log.Info("notebook is open", "address", l.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		log.Info("notebook is closed", "seconds", int(time.Since(start).Seconds()))
		return server.Close()
	}
}
