package rpc

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Client calls services with the credentials, the Region, the endpoints and the
// HTTP client of an aws.Config. Its methods ask what explaining and verifying a job needs.
type Client struct {
	Caller
	logs logCalls
}

// New returns a client for the account and Region that cfg leads to.
func New(cfg aws.Config) *Client {
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = awshttp.NewBuildableClient()
	}
	return &Client{Caller{endpoints{cfg, cfg.Region}}, logCallsOf(cfg)}
}

// In returns a client for another Region; "" means the client's own.
func (c *Client) In(region string) *Client {
	if region == "" {
		return c
	}
	cfg := c.cfg
	cfg.Region = region
	return &Client{Caller{endpoints{c.cfg, region}}, logCallsOf(cfg)}
}
