package batchapi

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Backend is the engine that runs the jobs. All methods may be called concurrently.
type Backend interface {
	call.State
	// AbsentSince returns when the last record was written, in epoch milliseconds, if the states
	// can be out of date: the engine that wrote them was killed, and none runs now. It returns 0
	// for current states. Call it only within View.
	AbsentSince() int64
	// Accepting returns why the engine accepts no more jobs, or nil. Only decide may call it.
	Accepting() error
	// ProvideSecrets keeps those given values that a job needs, until the job ends. It returns why the
	// other secrets have no value. Only decide may call it.
	ProvideSecrets(job string, given []secretsource.Value, needed []types.Secret) (missing []error)
	// Executor returns the executor with a name that jobs chose; "" is the engine's own. The error
	// says why it is not available.
	Executor(ctx context.Context, name string) (attempt.Executor, error)
}

// Settings configure an API.
type Settings struct {
	// Check rejects a request body that passed the API's own checks; it may be nil. It names rules in a *call.BrokenRules.
	Check func(operation string, body []byte) error
	// ProcessesForBatchctlOnly accepts a job that would run as a process only from batchctl's own commands.
	ProcessesForBatchctlOnly bool
	// VCPUs is the size of the engine's own compute environment, Capacity returns everything that the
	// machine offers to jobs.
	VCPUs    float64
	Capacity func() model.Amount
}

// service is what the operations on all resources share.
type service struct {
	Settings
	// backend has the model; every operation reads it through View and changes it through Change.
	backend Backend
}

// check applies Settings.Check to the body. A broken rule whose text AWS Batch has published is rejected with it.
func (s *service) check(c *call.Call) error {
	if s.Check == nil {
		return nil
	}
	err := s.Check(c.Operation, c.Body)
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*wire.Fault](err); ok {
		return f
	}
	if b, ok := errors.AsType[*call.BrokenRules](err); ok {
		c.Remark("batchctl validate --rules explains", b.Rules)
		for _, rule := range b.Rules {
			if words := wordsOfRules[rule]; words != "" && c.Operation == "RegisterJobDefinition" {
				return failed(words)
			} else if words != "" {
				return wire.ClientException("%s", words)
			}
		}
	}
	return wire.ClientException("%s", err)
}
