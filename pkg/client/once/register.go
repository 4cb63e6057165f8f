package once

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
)

// definitions registers the definitions of one run, at each target. It looks for each content once, so that two
// jobs with the same content do not register it twice.
type definitions struct {
	mu    sync.Mutex
	byRef map[string]*registered
}

// registered is a definition by its ARN; fresh means that it was registered just now.
type registered struct {
	once  sync.Once
	arn   string
	fresh bool
	err   error
}

// of returns the definition for a request at a target, and registers it if necessary.
func (d *definitions) of(ctx context.Context, c *client.Client, target string,
	in *awsbatch.RegisterJobDefinitionInput) (*registered, error) {
	hash, err := client.ContentHash(in)
	if err != nil {
		return nil, fmt.Errorf("register job definition %s: %w", aws.ToString(in.JobDefinitionName), err)
	}
	d.mu.Lock()
	if d.byRef == nil {
		d.byRef = map[string]*registered{}
	}
	r := d.byRef[target+hash]
	if r == nil {
		r = &registered{}
		d.byRef[target+hash] = r
	}
	d.mu.Unlock()
	r.once.Do(func() { r.arn, r.fresh, r.err = register(ctx, c, in, hash) })
	return r, r.err
}

// register returns the ARN of an ACTIVE revision with this content. If there is none, it
// registers one, and fresh is true.
func register(ctx context.Context, c *client.Client, in *awsbatch.RegisterJobDefinitionInput,
	hash string) (arn string, fresh bool, err error) {
	name := aws.ToString(in.JobDefinitionName)
	if arn, err = findDefinition(ctx, c, name, hash); arn != "" || err != nil {
		return arn, false, err
	}
	out, err := c.API.RegisterJobDefinition(ctx, client.WithHash(in, hash))
	if err != nil {
		return "", false, client.Failed(client.ActionRegister+name, err)
	}
	return aws.ToString(out.JobDefinitionArn), true, nil
}

// findDefinition returns the newest ACTIVE revision with the hash, or "".
func findDefinition(ctx context.Context, c *client.Client, name, hash string) (string, error) {
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.API, &awsbatch.DescribeJobDefinitionsInput{
		JobDefinitionName: &name, Status: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", client.Failed("describe job definitions "+name, err)
		}
		for _, d := range page.JobDefinitions {
			if d.Tags[client.ContentTag] == hash && aws.ToInt32(d.Revision) > aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	return aws.ToString(newest.JobDefinitionArn), nil
}
