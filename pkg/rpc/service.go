package rpc

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Service is an AWS service as far as a call needs it.
type Service struct {
	// name is what people are told.
	name string
	// id is the SDK's service id, by which endpoints are configured.
	id string
	// host is the first part of the endpoint's name; signing is what requests are
	// signed for.
	host, signing string
	// target is the prefix of X-Amz-Target; version that of the Query API.
	target, version string
	// global says that there is one endpoint for all Regions of a partition.
	global bool
}

// The services. Hosts, targets and versions are those of the AWS service models.
var (
	ECR            = Service{name: "ecr", id: "ECR", host: "api.ecr", signing: "ecr", target: "AmazonEC2ContainerRegistry_V20150921"}
	Logs           = Service{name: "logs", id: "CloudWatch Logs", host: "logs", signing: "logs", target: "Logs_20140328"}
	ECS            = Service{name: "ecs", id: "ECS", host: "ecs", signing: "ecs", target: "AmazonEC2ContainerServiceV20141113"}
	SecretsManager = Service{name: "secretsmanager", id: "Secrets Manager", host: "secretsmanager", signing: "secretsmanager", target: "secretsmanager"}
	SSM            = Service{name: "ssm", id: "SSM", host: "ssm", signing: "ssm", target: "AmazonSSM"}
	ServiceQuotas  = Service{name: "servicequotas", id: "Service Quotas", host: "servicequotas", signing: "servicequotas", target: "ServiceQuotasV20190624"}
	IAM            = Service{name: "iam", id: "IAM", host: "iam", signing: "iam", version: "2010-05-08", global: true}
	AutoScaling    = Service{name: "autoscaling", id: "Auto Scaling", host: "autoscaling", signing: "autoscaling", version: "2011-01-01"}
	CloudFormation = Service{name: "cloudformation", id: "CloudFormation", host: "cloudformation", signing: "cloudformation", version: "2010-05-15"}
	EC2            = Service{name: "ec2", id: "EC2", host: "ec2", signing: "ec2", version: "2016-11-15"}
)

// endpoint returns the URL of a service and the Region to sign for. An endpoint
// that the user configured, for the service or for all, comes first, as in the
// AWS tools.
func (c *Client) endpoint(ctx context.Context, s Service) (address, region string, err error) {
	region = c.region
	if region == "" {
		return "", "", fmt.Errorf("there is no Region")
	}
	suffix, home := partition(region)
	name := s.host + "." + region + "." + suffix
	if s.global {
		region = home
		switch home {
		case "us-east-1":
			name = s.host + "." + suffix
		case "us-gov-west-1":
			name = s.host + ".us-gov." + suffix
		default:
			name = s.host + "." + home + "." + suffix
		}
	}
	if address = c.configured(ctx, s.id); address == "" {
		address = "https://" + name
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", "", fmt.Errorf("the endpoint of %s is no URL", s.name)
	}
	u.Path = cmp.Or(u.Path, "/")
	return u.String(), region, nil
}

// configured is the endpoint of a service from environment and profile
// (AWS_ENDPOINT_URL_<SERVICE>, then that of the target or AWS_ENDPOINT_URL).
func (c *Client) configured(ctx context.Context, id string) string {
	for _, source := range c.cfg.ConfigSources {
		if s, ok := source.(interface {
			GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
		}); ok {
			if ignore, found, err := s.GetIgnoreConfiguredEndpoints(ctx); err == nil && found && ignore {
				return aws.ToString(c.cfg.BaseEndpoint)
			}
		}
	}
	for _, source := range c.cfg.ConfigSources {
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if address, found, err := s.GetServiceBaseEndpoint(ctx, id); err == nil && found {
				return address
			}
		}
	}
	return aws.ToString(c.cfg.BaseEndpoint)
}

// partition returns the DNS suffix of a Region's endpoints and the Region that
// its global services sign for (AWS General Reference, and the partitions that
// botocore knows).
func partition(region string) (suffix, home string) {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "amazonaws.com.cn", "cn-north-1"
	case strings.HasPrefix(region, "us-gov-"):
		return "amazonaws.com", "us-gov-west-1"
	case strings.HasPrefix(region, "us-isob-"):
		return "sc2s.sgov.gov", "us-isob-east-1"
	case strings.HasPrefix(region, "us-isof-"):
		return "csp.hci.ic.gov", "us-isof-south-1"
	case strings.HasPrefix(region, "us-iso-"):
		return "c2s.ic.gov", "us-iso-east-1"
	case strings.HasPrefix(region, "eu-isoe-"):
		return "cloud.adc-e.uk", "eu-isoe-west-1"
	case strings.HasPrefix(region, "eusc-"):
		return "amazonaws.eu", "eusc-de-east-1"
	}
	return "amazonaws.com", "us-east-1"
}
