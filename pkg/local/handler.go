package local

import (
	"context"
	"net/http"
)

// Handler returns the engine's API.
func (e *Engine) Handler() http.Handler {
	return New(backend{e}, Settings{Key: e.key, Lenient: e.options.Lenient, Check: e.options.Check,
		ProcessesForBatchctlOnly: e.options.ProcessesForBatchctlOnly, VCPUs: e.options.VCPUs, Capacity: e.options.capacity(),
		Logs: e.logs, Verified: countConnection})
}

// backend is an engine as its API needs it.
type backend struct{ engine *Engine }

func (b backend) View() (m *model, done func()) {
	b.engine.mu.Lock()
	return b.engine.model, b.engine.mu.Unlock
}

func (b backend) Change(decide func(*model) ([]event, error)) error { return b.engine.change(decide) }

func (b backend) AbsentSince() int64 { return b.engine.absentSince }

func (b backend) Accepting() error {
	if b.engine.shutdown {
		return ErrEngineClosing
	}
	return nil
}

func (b backend) Executor(ctx context.Context, name string) (Executor, error) {
	return Choose(ctx, b.engine.options.Executor, name)
}

// countConnection counts the connection of a verified request as that of a client.
func countConnection(r *http.Request) {
	if count, ok := r.Context().Value(connectionKey{}).(func()); ok {
		count()
	}
}
