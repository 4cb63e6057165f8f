package rpc

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Service is the part of an AWS service's model that a call needs.
type Service struct {
	// name is the service's name in messages, in the names of its endpoints and in signatures.
	name string
	// id is the SDK's service id, by which endpoints are configured.
	id string
	// target is the prefix of X-Amz-Target, version the version of the Query API.
	target, version string
	// global means that there is one endpoint for all Regions of a partition.
	global bool
	// path is that of an operation in REST-JSON; "" for the other protocols.
	path string
}

// The services that are called without the SDK's client. Names, targets and versions are those
// of the AWS service models.
var (
	SSM           = Service{name: "ssm", id: "SSM", target: "AmazonSSM"}
	ServiceQuotas = Service{name: "servicequotas", id: "Service Quotas", target: "ServiceQuotasV20190624"}
	IAM           = Service{name: "iam", id: "IAM", version: "2010-05-08", global: true}
	STS           = Service{name: "sts", id: "STS", version: "2011-06-15"}
	EC2           = Service{name: "ec2", id: "EC2", version: "2016-11-15"}
	SNS           = Service{name: "sns", id: "SNS", version: "2010-03-31"}
	// Batch is called without the SDK where a request may have members that the SDK does not know.
	Batch = Service{name: "batch", id: "Batch"}
)

// endpoints has the addresses of services for one configuration and Region.
type endpoints struct {
	cfg    aws.Config
	region string
}

// endpoint returns the URL of a service and the Region to sign for. An endpoint
// that the user configured, for the service or for all, comes first, as in the
// AWS tools.
func (e *endpoints) endpoint(ctx context.Context, s Service) (address, region string, err error) {
	region = e.region
	if region == "" {
		return "", "", fmt.Errorf("no Region is configured")
	}
	p := batch.PartitionOf(region)
	name := s.name + "." + region + "." + p.Suffix
	if s.global {
		region = p.Home
		switch p.Home {
		case "us-east-1":
			name = s.name + "." + p.Suffix
		case "us-gov-west-1":
			name = s.name + ".us-gov." + p.Suffix
		default:
			name = s.name + "." + p.Home + "." + p.Suffix
		}
	}
	if address = e.configured(ctx, s.id); address == "" {
		address = "https://" + name
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", "", fmt.Errorf("the endpoint of %s is not a URL", s.name)
	}
	if s.path != "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + s.path
	}
	u.Path = cmp.Or(u.Path, "/")
	return u.String(), region, nil
}

// Endpoint returns the address that a configuration has for the service of an SDK id, such
// as Batch, in the order of the AWS tools: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, the
// service's section of the profile, endpoint_url of the profile. It is "" for AWS's own.
func Endpoint(ctx context.Context, cfg aws.Config, id string) string {
	return (&endpoints{cfg: cfg}).configured(ctx, id)
}

// configured is Endpoint of the configuration.
func (e *endpoints) configured(ctx context.Context, id string) string {
	ignore, _ := firstKnown(e.cfg, func(source interface {
		GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
	}) (bool, bool, error) {
		return source.GetIgnoreConfiguredEndpoints(ctx)
	})
	_, forAll := os.LookupEnv("AWS_ENDPOINT_URL")
	_, forOne := os.LookupEnv("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(id, " ", "_")))
	address, found := firstKnown(e.cfg, func(source interface {
		GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
	}) (string, bool, error) {
		return source.GetServiceBaseEndpoint(ctx, id)
	})
	if found && !ignore && (forOne || !forAll) {
		return address
	}
	return aws.ToString(e.cfg.BaseEndpoint)
}

// firstKnown returns the value of the first source of the configuration that has one.
func firstKnown[Source, Value any](cfg aws.Config, query func(Source) (Value, bool, error)) (value Value, found bool) {
	for _, s := range cfg.ConfigSources {
		if source, ok := s.(Source); ok {
			if value, found, err := query(source); err == nil && found {
				return value, true
			}
		}
	}
	return value, false
}
