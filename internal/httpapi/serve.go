package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// drainTime is how long requests may go on after Serve was told to stop.
const drainTime = 10 * time.Second

// shutdownKey finds, in the context of a request, the context that ends when the server begins to shut down.
type shutdownKey struct{}

// Serve answers requests on the listener until the context ends. Then it lets requests finish, but ends streams at once:
// their clients connect again to the next daemon. It returns nil after an orderly end, and a dovetail.Unavailable error
// when the listener fails.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	base := context.WithValue(context.WithoutCancel(ctx), shutdownKey{}, ctx)
	srv := &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	if log != nil {
		srv.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		err := srv.Shutdown(limited)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		stopped <- err
	})
	err := srv.Serve(ln)
	if stop() { // the context has not ended: the listener failed
		return errors.Join(dovetail.Errorf(dovetail.Unavailable, "cannot go on listening on %s: %v", ln.Addr(), err), srv.Close())
	}
	if err := <-stopped; err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
