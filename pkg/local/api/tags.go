package api

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// taggable returns the resource with an ARN, if it can have tags. As in Batch, children of arrays
// have none.
func taggable(m *model.Model, text *string) (model.Resource, error) {
	r, err := model.ParseARN(aws.ToString(text))
	if err != nil {
		return "", err
	}
	if !m.Exists(r) {
		return "", missing("Resource", text)
	}
	return r, nil
}

// listTagsForResource returns the tags of a job, definition, queue, environment, policy or
// consumable resource. An unknown resource is an error.
func (a *API) listTagsForResource(_ *call, in *awsbatch.ListTagsForResourceInput) (*awsbatch.ListTagsForResourceOutput, error) {
	m, done := a.backend.View()
	defer done()
	r, err := taggable(m, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &awsbatch.ListTagsForResourceOutput{Tags: model.Merged(nil, m.Tags[r])}, nil
}

// tagResource adds tags to a resource and replaces the values of existing ones. Other tags stay.
func (a *API) tagResource(c *call, in *awsbatch.TagResourceInput) (*awsbatch.TagResourceOutput, error) {
	if len(in.Tags) == 0 {
		return nil, wire.ClientException("tags is required.")
	}
	return &awsbatch.TagResourceOutput{}, a.retag(c, in.ResourceArn, func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

// untagResource removes tags from a resource. Unknown keys have no effect, as in Batch.
func (a *API) untagResource(c *call, in *awsbatch.UntagResourceInput) (*awsbatch.UntagResourceOutput, error) {
	if len(in.TagKeys) == 0 {
		return nil, wire.ClientException("tagKeys is required.")
	}
	return &awsbatch.UntagResourceOutput{}, a.retag(c, in.ResourceArn, func(tags map[string]string) {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	})
}

// retag records the tags as edit leaves them. The limits apply to the result.
func (a *API) retag(c *call, text *string, edit func(map[string]string)) error {
	return a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		r, err := taggable(m, text)
		if err != nil {
			return nil, err
		}
		tags := model.Merged(nil, m.Tags[r])
		edit(tags)
		return []model.Event{{Tagged: &model.Tagging{Resource: r, Tags: tags}}}, a.judge(c, checkTags(tags))
	})
}
