package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// imds is the address of the instance metadata service (EC2 user guide).
const imds = "http://169.254.169.254/latest/"

// metadataCheck examines the instance metadata service.
type metadataCheck struct {
	host   *probe
	report *findings
	kind   HostKind
}

// checkMetadata is the check of the topic metadata.
func checkMetadata(in *inspection) {
	c := metadataCheck{in.host, in.report, in.facts.kind}
	c.check()
}

// check queries the instance metadata service in its second version: a token, then the name of
// the instance's role. It does not query credentials.
func (c *metadataCheck) check() {
	if !c.host.canAsk() || c.kind == Machine {
		return
	}
	if isTrue(c.host.Env("AWS_EC2_METADATA_DISABLED")) {
		c.host.skip("metadata", "AWS_EC2_METADATA_DISABLED is set")
		return
	}
	status, token, err := c.host.http("PUT", imds+"api/token",
		map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "60"})
	// In a container an answer is a risk; on a host a missing answer is the problem.
	switch {
	case c.kind == Container && err == nil && status == 200:
		c.report.note("imds-open", "the instance metadata service answers in this container",
			"every program in the container can use the credentials of the instance's role",
			"launch template: MetadataOptions HttpTokens required, HttpPutResponseHopLimit 1; give jobs a jobRoleArn",
			seen("PUT "+imds+"api/token", "answers"))
	case c.kind == Container:
		c.closed(err)
	case err != nil:
		c.report.problem("imds-unreachable", "the instance metadata service does not answer",
			"the ECS agent gets neither its credentials nor the instance's identity from it, and cannot register",
			"aws ec2 modify-instance-metadata-options --http-endpoint enabled; check firewall rules and routes to 169.254.169.254", seen("PUT "+imds+"api/token", errorText(err)))
	case status != 200:
		c.report.problem("imds-unreachable", fmt.Sprintf("the instance metadata service answers with status %d",
			status), "the ECS agent gets neither its credentials nor the instance's identity from it, and cannot register",
			"aws ec2 modify-instance-metadata-options --http-endpoint enabled",
			seen("PUT "+imds+"api/token", fmt.Sprint("status ", status)))
	default:
		c.report.ok("imds", "the instance metadata service answers", seen("PUT "+imds+"api/token", "answers"))
		c.firstVersion()
		c.role(strings.TrimSpace(token))
	}
}

// firstVersion sends a request without a token, which IMDSv2 rejects.
func (c *metadataCheck) firstVersion() {
	const address = imds + "meta-data/instance-id"
	switch status, _, err := c.host.http("GET", address, nil); {
	case err == nil && status == 200:
		c.report.warning("imds-v1", "the instance metadata service answers without a token (IMDSv1)",
			"an attacker who can make a program fetch a URL gets the instance role's credentials",
			"launch template: MetadataOptions HttpTokens required", seen("GET "+address, "status 200 without a token"))
	case err == nil && status == 401:
		c.report.ok("imds-v2", "the instance metadata service requires a token (IMDSv2)",
			seen("GET "+address, "status 401 without a token"))
	}
}

// closed judges a metadata service that does not answer in a container: with a hop limit of 1 its
// packets end at the host.
func (c *metadataCheck) closed(err error) {
	from := seen("PUT "+imds+"api/token", "refused")
	if err != nil {
		from = seen("PUT "+imds+"api/token", errorText(err))
	}
	if hasOwnRole(c.host) || !errors.Is(err, context.DeadlineExceeded) {
		c.report.ok("imds-closed", "the instance metadata service does not answer in this container", from)
		return
	}
	c.report.warning("imds-hop-limit",
		"the instance metadata service does not answer, and the job has no role of its own",
		"the hop limit is 1, or the service is blocked for containers: the SDKs find no credentials",
		"give the job a jobRoleArn; or set HttpPutResponseHopLimit 2 in the launch template, which gives every job access to the instance's role", from)
}

// role queries the name of the instance's role.
func (c *metadataCheck) role(token string) {
	address := imds + "meta-data/iam/security-credentials/"
	status, body, err := c.host.http("GET", address, map[string]string{"X-aws-ec2-metadata-token": token})
	switch {
	case err != nil:
		c.host.skip("instance role", errorText(err))
	case status == 404 || status == 200 && strings.TrimSpace(body) == "":
		c.report.problem("no-instance-role", "the instance has no role",
			"the ECS agent cannot register, images from ECR cannot be pulled, and logs are not written",
			"set instanceRole of the compute environment to an instance profile whose role has AmazonEC2ContainerServiceforEC2Role", seen("GET "+address, fmt.Sprint("status ", status)))
	case status != 200:
		c.host.skip("instance role", fmt.Sprint("status ", status))
	default:
		c.report.ok("instance-role", "the instance has the role "+clean(firstLine(body)), seen("GET "+address, body))
	}
}
