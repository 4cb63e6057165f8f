package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Backend is the engine that an API answers for.
type Backend interface {
	// View returns the model. It does not change until done is called; what the model holds must not be kept longer.
	View() (m *model.Model, done func())
	// Change decides and keeps one change that a caller asked for, and returns when it is on disk. decide reads
	// the model and must not alter it; where it finds nothing to change, what it found is on disk too. The error
	// is ErrReadOnly for an engine that keeps nothing.
	Change(decide func(m *model.Model) ([]model.Event, error)) error
	// AbsentSince is when the last record was written, in epoch milliseconds, if the states in it can be out of
	// date: the engine that wrote them was killed, and none runs now. 0: the states are those of now. It is called
	// within View only.
	AbsentSince() int64
	// Accepting returns why the engine accepts no more jobs; nil: it does. Only decide may call it.
	Accepting() error
	// Executor returns the executor of a name that jobs chose; "": the engine's own. The error says why a job
	// cannot have it.
	Executor(ctx context.Context, name string) (attempt.Executor, error)
}

// ErrReadOnly is the error of a change to an engine that was opened only to read.
var ErrReadOnly = errors.New("this engine was opened only to read; nothing was changed")

// Settings say how an API answers.
type Settings struct {
	// Key is what requests must be signed with.
	Key aws.Credentials
	// Lenient takes what moto takes and AWS Batch refuses. What it would have refused is in the answer's notice.
	Lenient bool
	// Check refuses a request body that passed the API's own checks; nil: none.
	Check func(operation string, body []byte) error
	// ProcessesForBatchctlOnly accepts a job that would run as a process only from batchctl's own commands.
	ProcessesForBatchctlOnly bool
	// VCPUs is the size of the engine's own compute environment, Capacity all that the machine offers to jobs.
	VCPUs    float64
	Capacity model.Amount
	// Logs are the logs of the attempts.
	Logs *logs.Store
	// Verified is told of each request with a valid signature; nil: nobody.
	Verified func(*http.Request)
}

// API answers the requests of AWS SDKs: AWS Batch, the part of CloudWatch Logs that reads what jobs print, and
// the part of ECS that shows the clusters of compute environments.
type API struct {
	Settings
	backend  Backend
	verifier verifier
	services map[string]map[string]handler // by the name that requests are signed for, and by operation
	streams  streamIndex
}

// New returns the API of an engine.
func New(b Backend, s Settings) *API {
	a := &API{Settings: s, backend: b, verifier: verifier{key: s.Key}}
	a.services = map[string]map[string]handler{"batch": a.operations(), "logs": a.logOperations(), "ecs": a.clusterOperations()}
	return a
}
