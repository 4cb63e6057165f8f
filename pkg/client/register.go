package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// ContentTag is the tag of a job definition that holds the hash of the request
// which registered it. It is how a definition is found again.
const ContentTag = "batchctl:content"

// tagLimit is the most tags that a Batch resource can have.
const tagLimit = 50

// definitions are those of one run: each content is looked for once, and two jobs
// of one content do not register it side by side.
type definitions struct {
	mu    sync.Mutex
	byRef map[string]*registered
}

// registered is a definition by its ARN; fresh if it was registered just now.
type registered struct {
	once  sync.Once
	arn   string
	fresh bool
	err   error
}

// of returns the definition that a request stands for.
func (d *definitions) of(ctx context.Context, c *Client, in *awsbatch.RegisterJobDefinitionInput) (*registered, error) {
	hash, err := contentHash(in)
	if err != nil {
		return nil, fmt.Errorf("register job definition %s: %w", aws.ToString(in.JobDefinitionName), err)
	}
	d.mu.Lock()
	if d.byRef == nil {
		d.byRef = map[string]*registered{}
	}
	r := d.byRef[hash]
	if r == nil {
		r = &registered{}
		d.byRef[hash] = r
	}
	d.mu.Unlock()
	r.once.Do(func() { r.arn, r.fresh, r.err = c.definition(ctx, in, hash) })
	return r, r.err
}

// definition returns the ARN of an ACTIVE revision with this content and
// registers one when there is none; fresh says which.
func (c *Client) definition(ctx context.Context, in *awsbatch.RegisterJobDefinitionInput, hash string) (arn string, fresh bool, err error) {
	name := aws.ToString(in.JobDefinitionName)
	if arn, err = c.findDefinition(ctx, name, hash); arn != "" || err != nil {
		return arn, false, err
	}
	out, err := c.batch.RegisterJobDefinition(ctx, withHash(in, hash))
	if err != nil {
		return "", false, failure(actionRegister+name, err)
	}
	return aws.ToString(out.JobDefinitionArn), true, nil
}

// findDefinition returns the newest ACTIVE revision with the hash, or "".
func (c *Client) findDefinition(ctx context.Context, name, hash string) (string, error) {
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.batch, &awsbatch.DescribeJobDefinitionsInput{
		JobDefinitionName: &name, Status: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", failure("describe job definitions "+name, err)
		}
		for _, d := range page.JobDefinitions {
			if d.Tags[ContentTag] == hash && aws.ToInt32(d.Revision) > aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	return aws.ToString(newest.JobDefinitionArn), nil
}

// registeredDefinition asks for a definition that is registered already: by name, which
// stands for the newest ACTIVE revision, by name:revision or by ARN. One that is not
// there is a *NoSuchDefinitionError.
func (c *Client) registeredDefinition(ctx context.Context, word string) (types.JobDefinition, error) {
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{word}}
	if name := batch.Name(word); !strings.Contains(name, ":") {
		in = &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &name, Status: aws.String("ACTIVE")}
	}
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.batch, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return newest, failure("describe job definition "+word, err)
		}
		for _, d := range page.JobDefinitions {
			if aws.ToInt32(d.Revision) >= aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	if newest.JobDefinitionName == nil {
		return newest, &NoSuchDefinitionError{word}
	}
	return newest, nil
}

// NoSuchDefinitionError is a job definition that is not registered.
type NoSuchDefinitionError struct{ Definition string }

func (e *NoSuchDefinitionError) Error() string {
	return fmt.Sprintf("no job definition %s is registered", e.Definition)
}

// contentHash identifies a registration by what it asks for.
func contentHash(in *awsbatch.RegisterJobDefinitionInput) (string, error) {
	bare := *in
	bare.Tags = maps.Clone(in.Tags)
	delete(bare.Tags, ContentTag)
	if len(bare.Tags) == 0 {
		bare.Tags = nil
	}
	text, err := wire.Marshal(bare)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:32], nil
}

// withHash adds the content tag. A definition that has no room for another tag
// goes without: it is registered anew each time.
func withHash(in *awsbatch.RegisterJobDefinitionInput, hash string) *awsbatch.RegisterJobDefinitionInput {
	tagged := *in
	tagged.Tags = maps.Clone(in.Tags)
	if tagged.Tags == nil {
		tagged.Tags = map[string]string{}
	}
	if len(tagged.Tags) < tagLimit {
		tagged.Tags[ContentTag] = hash
	}
	return &tagged
}
