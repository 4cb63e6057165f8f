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

// RegisteredDefinition asks for a definition that is registered already: by name, which
// stands for the newest ACTIVE revision, by name:revision or by ARN. One that is not
// there is a *NoSuchDefinitionError.
func (c *Client) RegisteredDefinition(ctx context.Context, word string) (types.JobDefinition, error) {
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{word}}
	if name := batch.Name(word); !strings.Contains(name, ":") {
		in = &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &name, Status: aws.String("ACTIVE")}
	}
	var newest types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.API, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return newest, Failed("describe job definition "+word, err)
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

// ContentHash identifies a registration by what it asks for.
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

// WithHash adds the content tag. A definition that has no room for another tag
// goes without: it is registered anew each time.
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

// ContentTag is the tag of a job definition that holds the hash of the request
// which registered it. It is how a definition is found again.
const ContentTag = "batchctl:content"

// TagLimit is the most tags that a Batch resource can have.
const TagLimit = 50
