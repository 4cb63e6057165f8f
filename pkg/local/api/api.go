package api

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/batchapi"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/api/ecsapi"
	"github.com/batchctl/batchctl/pkg/local/api/logsapi"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Backend is the engine that an API serves. All methods may be called concurrently.
type Backend interface {
	batchapi.Backend
	// Subscribe returns a channel that receives after changes of the model, until cancel is called. Several changes may
	// be one receipt.
	Subscribe() (changed <-chan struct{}, cancel func())
}

// Settings configure an API.
type Settings struct {
	// Key is the key that requests must be signed with.
	Key aws.Credentials
	// Check rejects a request body that passed the API's own checks; it may be nil.
	Check func(operation string, body []byte) error
	// ProcessesForBatchctlOnly accepts a job that would run as a process only from batchctl's own commands.
	ProcessesForBatchctlOnly bool
	// VCPUs is the size of the engine's own compute environment, Capacity returns everything that the
	// machine offers to jobs.
	VCPUs    float64
	Capacity func() model.Amount
	// GPUs returns the names of its GPUs.
	GPUs func() []string
	// Executor is the name of the executor of jobs that choose none; "" if it has no name.
	Executor string
	// Logs are the logs of the attempts.
	Logs *logs.Store
	// Verified is called for each request with a valid signature; it may be nil.
	Verified func(*http.Request)
	// HandOver makes the engine end for a newer one, or returns why it continues; nil if the engine
	// cannot hand over.
	HandOver func(context.Context) error
}

// API answers the requests of AWS SDKs: AWS Batch, the part of CloudWatch Logs that reads what jobs print and
// stores other events, and the part of ECS that shows the clusters of compute environments with their tasks.
type API struct {
	Settings
	// backend has the model.
	backend Backend
	// verifier checks the signature of every request.
	verifier verifier
	// services has the handlers by the service that a request is signed for, and by operation.
	services map[string]map[string]call.Handler
	// logs is one of the services. CloseStreams closes it.
	logs *logsapi.API
	// closing is closed when streams of changes must end.
	closing chan struct{}
}

// New returns the API of an engine.
func New(b Backend, s Settings) *API {
	a := &API{Settings: s, backend: b, verifier: verifier{key: s.Key}, logs: logsapi.New(b, s.Logs),
		closing: make(chan struct{})}
	settings := batchapi.Settings{Check: s.Check, ProcessesForBatchctlOnly: s.ProcessesForBatchctlOnly, VCPUs: s.VCPUs,
		Capacity: s.Capacity}
	machine := ecsapi.Machine{Capacity: s.Capacity, GPUs: s.GPUs, Executor: s.Executor}
	a.services = map[string]map[string]call.Handler{
		"batch": batchapi.New(b, settings).Operations(),
		"logs":  a.logs.Operations(),
		"ecs":   ecsapi.New(b, machine).Operations(),
	}
	return a
}
