package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// RegisteredDefinition returns the registered definition for a name (its newest ACTIVE revision),
// a name:revision or an ARN. If it does not exist, the error is a *NoSuchDefinitionError.
func (c *Client) RegisteredDefinition(ctx context.Context, arg string) (types.JobDefinition, error) {
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{arg}}
	if name := batch.Name(arg); !strings.Contains(name, ":") {
		in = &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &name, Status: aws.String("ACTIVE")}
	}
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.API, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return newest, Failed("describe job definition "+arg, err)
		}
		for _, d := range page.JobDefinitions {
			if aws.ToInt32(d.Revision) >= aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	if newest.JobDefinitionName == nil {
		return newest, &NoSuchDefinitionError{arg}
	}
	return newest, nil
}

// NoSuchDefinitionError reports a job definition that is not registered.
type NoSuchDefinitionError struct{ Definition string }

// Error names the definition.
func (e *NoSuchDefinitionError) Error() string {
	return fmt.Sprintf("no such job definition: %s", e.Definition)
}

// ContentHash identifies a registration by the content of its request.
func ContentHash(in *awsbatch.RegisterJobDefinitionInput) (string, error) {
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

// WithHash adds the content tag. A definition that has no space for another tag gets none: it is
// registered again each time.
func WithHash(in *awsbatch.RegisterJobDefinitionInput, hash string) *awsbatch.RegisterJobDefinitionInput {
	tagged := *in
	tagged.Tags = maps.Clone(in.Tags)
	if tagged.Tags == nil {
		tagged.Tags = map[string]string{}
	}
	if len(tagged.Tags) < TagLimit {
		tagged.Tags[ContentTag] = hash
	}
	return &tagged
}

// ContentTag is the tag of a job definition with the hash of its RegisterJobDefinition request.
// batchctl finds definitions by it.
const ContentTag = "batchctl:content"

// TagLimit is how many tags a Batch resource can have.
const TagLimit = 50
