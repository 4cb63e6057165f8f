// Package client calls AWS Batch for a user: it lists, watches and stops jobs, and reads logs. The
// cloud and the local engine use the same code; only the aws.Config differs.
package client

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Client talks to AWS Batch, or to a server with its API. Its parts have the settings and the calls for
// what they are named after.
type Client struct {
	*Polling
	*JobQueues
	*Jobs
	*JobLogs
	*JobFinder

	API  *awsbatch.Client
	Rate *RateLimit
}

// New returns a client for the account, Region or engine of cfg.
func New(cfg aws.Config) *Client {
	c := &Client{}
	c.API = awsbatch.NewFromConfig(cfg, func(o *awsbatch.Options) {
		c.Rate = NewRateLimit(aws.ToString(o.BaseEndpoint))
		o.APIOptions = append(slices.Clip(o.APIOptions), c.Rate.middleware, rpc.Within(AttemptTimeout),
			rpc.WholeRequest, onward)
		o.HTTPClient = bounded{o.HTTPClient}
	})
	c.Polling = &Polling{api: c.API}
	c.JobQueues = &JobQueues{api: c.API, polling: c.Polling, services: rpc.New(cfg)}
	c.Jobs = &Jobs{api: c.API, queues: c.JobQueues, polling: c.Polling}
	c.JobLogs = &JobLogs{service: rpc.New(cfg), jobs: c.Jobs, polling: c.Polling}
	c.JobFinder = &JobFinder{c.Jobs}
	return c
}
