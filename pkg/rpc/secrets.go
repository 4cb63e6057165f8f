package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// SecretState is the state of a secret that a job names. Its value is never requested.
type SecretState struct {
	Found bool
	// Deleted means that the secret is scheduled for deletion, so it cannot be read.
	Deleted bool
	// Key is the AWS KMS key that encrypts it; "" for the default one.
	Key string
}

// FindSecret queries the object that valueFrom names: a secret of Secrets Manager by its ARN, or
// a parameter of SSM by its ARN or name.
func (c *Client) FindSecret(ctx context.Context, valueFrom string) (SecretState, error) {
	parts := strings.SplitN(valueFrom, ":", 7)
	if len(parts) == 7 && parts[2] == "secretsmanager" {
		return c.In(parts[3]).secret(ctx, secretARN(valueFrom))
	}
	if len(parts) >= 6 && parts[0] == "arn" && parts[2] == "ssm" {
		return c.In(parts[3]).parameter(ctx, strings.TrimPrefix(parts[5], "parameter"))
	}
	if strings.HasPrefix(valueFrom, "arn:") {
		return SecretState{}, errors.New("it is neither a Secrets Manager secret nor an SSM parameter")
	}
	return c.parameter(ctx, valueFrom)
}

// secretARN removes what ECS allows after the ARN of a secret: a JSON key, a stage and a version.
func secretARN(valueFrom string) string {
	parts := strings.Split(valueFrom, ":")
	return strings.Join(parts[:min(len(parts), 7)], ":")
}

// secret queries a secret of Secrets Manager.
func (c *Client) secret(ctx context.Context, arn string) (s SecretState, err error) {
	out, err := Again(ctx, secretsmanager.NewFromConfig(c.inRegion()).
		DescribeSecret, &secretsmanager.DescribeSecretInput{SecretId: &arn})
	if err != nil {
		if Missing(err) {
			err = nil
		}
		return s, err
	}
	return SecretState{Found: true, Deleted: out.DeletedDate != nil, Key: aws.ToString(out.KmsKeyId)}, nil
}

// parameter queries a parameter with DescribeParameters, which does not return its value. A name
// without slashes has one in its ARN, but not in SSM.
func (c *Client) parameter(ctx context.Context, name string) (s SecretState, err error) {
	if strings.Count(name, "/") == 1 {
		name = strings.TrimPrefix(name, "/")
	}
	names := []string{name}
	if !strings.Contains(name, "/") {
		names = append(names, "/"+name)
	}
	in := map[string]any{"ParameterFilters": []map[string]any{{"Key": "Name", "Option": "Equals", "Values": names}}}
	var out struct {
		Parameters []struct {
			KeyID string `json:"KeyId"`
		}
	}
	if err := c.JSON(ctx, SSM, "DescribeParameters", in, &out); err != nil || len(out.Parameters) == 0 {
		return s, err
	}
	return SecretState{Found: true, Key: out.Parameters[0].KeyID}, nil
}

// Quota returns the value of a quota of this account. known is false if the service does not have
// the quota.
func (c *Client) Quota(ctx context.Context, service, code string) (value float64, known bool, err error) {
	var out struct {
		Quota struct{ Value float64 }
	}
	err = c.JSON(ctx, ServiceQuotas, "GetServiceQuota", map[string]string{"ServiceCode": service, "QuotaCode": code},
		&out)
	if Missing(err) {
		return 0, false, nil
	}
	return out.Quota.Value, err == nil, err
}
