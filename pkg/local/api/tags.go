package api

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// taggable returns the resource of an ARN that has tags. As in Batch the children
// of arrays have none.
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

func (a *API) listTagsForResource(_ *call, in *awsbatch.ListTagsForResourceInput) (*awsbatch.ListTagsForResourceOutput, error) {
	m, done := a.backend.View()
	defer done()
	r, err := taggable(m, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &awsbatch.ListTagsForResourceOutput{Tags: model.Merged(nil, m.Tags[r])}, nil
}

func (a *API) tagResource(c *call, in *awsbatch.TagResourceInput) (*awsbatch.TagResourceOutput, error) {
	if len(in.Tags) == 0 {
		return nil, wire.ClientException("tags is required.")
	}
	return &awsbatch.TagResourceOutput{}, a.retag(c, in.ResourceArn, func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

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

// retag records the tags that edit changed.
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
