package batchapi

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// tags has the operations on the tags of resources.
type tags struct{ *service }

// tagged returns the resource whose tags a resource has: itself, or for a child of an array and for
// a node the job. An unknown resource is an error, and so are children and nodes: all three
// operations on tags support only the ARNs of whole jobs (API reference, whose words the error has).
func tagged(m *model.Model, text *string) (holder model.Resource, err error) {
	r, err := model.ParseARN(aws.ToString(text))
	if err != nil {
		return "", err
	}
	holder = r
	if kind, id := r.Split(); kind == model.KindJob {
		if t, _ := m.Node(id); t != nil {
			holder = model.ResourceOf(kind, t.Job.ID)
		} else if t := taskOf(m, id); t != nil {
			holder = model.ResourceOf(kind, t.Job.ID)
		}
	}
	if !m.Exists(holder) {
		return "", missing("Resource", text)
	}
	if r != holder {
		return "", wire.ClientException("ARNs for child jobs of array and multi-node parallel (MNP) jobs aren't supported. Use %s instead.", holder.ARN())
	}
	return holder, nil
}

// listTagsForResource returns the tags of anything that can have tags. The tags of children and nodes are
// those of their job, as DescribeJobs shows them.
func (ts tags) listTagsForResource(c *call.Call,
	in *awsbatch.ListTagsForResourceInput) (*awsbatch.ListTagsForResourceOutput, error) {
	m, done := ts.backend.View()
	defer done()
	r, err := tagged(m, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &awsbatch.ListTagsForResourceOutput{Tags: model.Merged(nil, m.Tags[r])}, nil
}

// tagResource adds tags to a resource and replaces the values of existing ones. Other tags stay.
func (ts tags) tagResource(c *call.Call, in *awsbatch.TagResourceInput) (*awsbatch.TagResourceOutput, error) {
	if len(in.Tags) == 0 {
		return nil, wire.ClientException("tags is required.")
	}
	return &awsbatch.TagResourceOutput{},
		ts.retag(c, in.ResourceArn, func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

// untagResource removes tags from a resource. Unknown keys have no effect, as in Batch.
func (ts tags) untagResource(c *call.Call, in *awsbatch.UntagResourceInput) (*awsbatch.UntagResourceOutput, error) {
	if len(in.TagKeys) == 0 {
		return nil, wire.ClientException("tagKeys is required.")
	}
	return &awsbatch.UntagResourceOutput{}, ts.retag(c, in.ResourceArn, func(tags map[string]string) {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	})
}

// retag records the tags as edit leaves them. The limits apply to the result.
func (ts tags) retag(c *call.Call, text *string, edit func(map[string]string)) error {
	return ts.backend.Change(func(m *model.Model) ([]model.Event, error) {
		r, err := tagged(m, text)
		if err != nil {
			return nil, err
		}
		tags := model.Merged(nil, m.Tags[r])
		edit(tags)
		return []model.Event{{Tagged: &model.Tagging{Resource: r, Tags: tags}}}, checkTags(tags)
	})
}
