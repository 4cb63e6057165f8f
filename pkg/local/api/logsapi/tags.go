package logsapi

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// checkLogTags rejects tags that CloudWatch Logs rejects (API reference of TagResource).
func checkLogTags(tags map[string]string) error {
	if len(tags) > 50 {
		return &wire.Fault{Type: "TooManyTagsException", Message: "A resource can have no more than 50 tags."}
	}
	if problem := call.TagProblem(tags); problem != "" {
		return call.Invalid("%s", problem)
	}
	return nil
}

// tags has the operations on the tags of log groups.
type tags struct{ *service }

// logTags returns the tags of a log group.
func (ts tags) logTags(group string) (*wire.LogTagsOutput, error) {
	m, done := ts.state.View()
	defer done()
	g := m.LogGroups[group]
	if g == nil {
		return nil, errNoGroup
	}
	return &wire.LogTagsOutput{Tags: model.Merged(nil, g.Tags)}, nil
}

// changeLogTags records the tags of a log group as edit leaves them.
func (ts tags) changeLogTags(group string, edit func(map[string]string)) (*wire.EmptyLogsOutput, error) {
	err := ts.state.Change(func(m *model.Model) ([]model.Event, error) {
		g := m.LogGroups[group]
		if g == nil {
			return nil, errNoGroup
		}
		tags := model.Merged(nil, g.Tags)
		edit(tags)
		return []model.Event{{LogGroupTagged: &model.LogGroupTagging{Group: group, Tags: tags}}}, checkLogTags(tags)
	})
	if err != nil {
		return nil, err
	}
	return &wire.EmptyLogsOutput{}, nil
}

func (ts tags) listLogTags(_ *call.Call, in *wire.ListLogTagsInput) (*wire.LogTagsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return ts.logTags(group)
}

func (ts tags) listTagsLogGroup(_ *call.Call, in *wire.ListTagsLogGroupInput) (*wire.LogTagsOutput, error) {
	return ts.logTags(aws.ToString(in.LogGroupName))
}

func (ts tags) tagLogs(_ *call.Call, in *wire.TagLogsInput) (*wire.EmptyLogsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return ts.tagLogGroup(nil, &wire.TagLogGroupInput{LogGroupName: &group, Tags: in.Tags})
}

func (ts tags) tagLogGroup(_ *call.Call, in *wire.TagLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, call.Invalid("tags is required.")
	}
	return ts.changeLogTags(aws.ToString(in.LogGroupName), func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

func (ts tags) untagLogs(_ *call.Call, in *wire.UntagLogsInput) (*wire.EmptyLogsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return ts.untagLogGroup(nil, &wire.UntagLogGroupInput{LogGroupName: &group, Tags: in.TagKeys})
}

// untagLogGroup removes tags. Unknown keys have no effect.
func (ts tags) untagLogGroup(_ *call.Call, in *wire.UntagLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, call.Invalid("The keys of the tags are required.")
	}
	return ts.changeLogTags(aws.ToString(in.LogGroupName), func(tags map[string]string) {
		for _, key := range in.Tags {
			delete(tags, key)
		}
	})
}
