package local

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// Handler returns the engine's API.
func (e *Engine) Handler() http.Handler { return e.newAPI() }

// newAPI returns the engine's API.
func (e *Engine) newAPI() *api.API {
	devices := e.options.devices()
	capacity := func() model.Amount {
		c := e.options.capacity()
		c.GPUs = int64(len(devices()))
		return c
	}
	return api.New(backend{e}, api.Settings{Key: e.key, Check: e.options.Check,
		ProcessesForBatchctlOnly: e.options.ProcessesForBatchctlOnly, VCPUs: e.options.VCPUs, Capacity: capacity,
		GPUs: devices, Executor: defaultExecutor(e.options.Executor), Logs: e.logs, Verified: countConnection,
		HandOver: e.handOver})
}

// backend is an engine in the form that its API needs.
type backend struct{ engine *Engine }

func (b backend) View() (m *model.Model, done func()) {
	b.engine.mu.Lock()
	return b.engine.model, b.engine.mu.Unlock
}

func (b backend) Change(decide func(*model.Model) ([]model.Event, error)) error {
	return b.engine.change(decide)
}

func (b backend) Subscribe() (changed <-chan struct{}, cancel func()) {
	return b.engine.subscribers.subscribe()
}

func (b backend) AbsentSince() int64 { return b.engine.absentSince }

func (b backend) Accepting() error {
	if b.engine.shutdown {
		return attempt.ErrEngineClosing
	}
	return nil
}

func (b backend) ProvideSecrets(job string, given []secretsource.Value, needed []types.Secret) []error {
	return b.engine.secrets.provide(job, given, needed, b.engine.model.Jobs)
}

func (b backend) Executor(ctx context.Context, name string) (attempt.Executor, error) {
	return attempt.Choose(ctx, b.engine.options.Executor, name)
}
