package api

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// deleteLogGroup removes a group with its created streams and their events. It rejects a group that
// has logs of jobs. They are the only copy, running commands write to them, and the job history refers
// to them; the engine removes them with their jobs. Tools that delete a stack often
// delete its log groups too, and ignore the error. The default group always exists.
func (a *API) deleteLogGroup(_ *call.Call, in *wire.DeleteLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	name := *in.LogGroupName
	var files []string
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		g := m.LogGroups[name]
		switch {
		case g == nil:
			return nil, errNoGroup
		case name == model.DefaultLogGroup:
			return nil, call.Invalid("The log group %s cannot be deleted: jobs log to it by default.", name)
		case g.Attempts > 0:
			return nil, call.Invalid("The log group %s cannot be deleted: it has logs of jobs. The local engine removes them with the jobs.", name)
		}
		files = g.CreatedFiles()
		return []model.Event{{LogGroupDeleted: &model.LogGroupDeletion{Group: name}}}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		// The group is deleted. A file that is left has a name that is never used again.
		_ = a.Logs.RemovePut(file)
	}
	return &wire.EmptyLogsOutput{}, nil
}

// deleteLogStream removes a stream of CreateLogStream with its events. It rejects the stream of an attempt, also after
// the attempt has ended, for the reasons of deleteLogGroup.
func (a *API) deleteLogStream(_ *call.Call, in *wire.DeleteLogStreamInput) (*wire.EmptyLogsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName)} {
		if err != nil {
			return nil, err
		}
	}
	file := ""
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] == nil {
			return nil, errNoGroup
		}
		s, _ := m.FindStream(*in.LogGroupName, *in.LogStreamName)
		switch {
		case s == nil:
			return nil, errNoStream
		case s.Task != nil:
			return nil, call.Invalid("The log stream %s cannot be deleted: it is the log of a job. The local engine removes it with the job.", *in.LogStreamName)
		}
		file = s.File
		return []model.Event{{LogStreamDeleted: &model.LogStreamDeletion{Group: *in.LogGroupName, Stream: *in.LogStreamName}}}, nil
	})
	if err != nil {
		return nil, err
	}
	// The stream is deleted. A file that is left has a name that is never used again.
	_ = a.Logs.RemovePut(file)
	return &wire.EmptyLogsOutput{}, nil
}

// groupOf returns the log group that an ARN names. CloudWatch accepts no names here.
func groupOf(arn *string) (string, error) {
	prefix, group, ok := strings.Cut(aws.ToString(arn), ":log-group:")
	if !ok || !strings.HasPrefix(prefix, "arn:") || group == "" || strings.Contains(group, ":") {
		return "", call.Invalid("%q is not the ARN of a log group, such as %s.", aws.ToString(arn), groupARN("NAME"))
	}
	return group, nil
}

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

// logTags returns the tags of a log group.
func (a *API) logTags(group string) (*wire.LogTagsOutput, error) {
	m, done := a.backend.View()
	defer done()
	g := m.LogGroups[group]
	if g == nil {
		return nil, errNoGroup
	}
	return &wire.LogTagsOutput{Tags: model.Merged(nil, g.Tags)}, nil
}

// changeLogTags records the tags of a log group as edit leaves them.
func (a *API) changeLogTags(group string, edit func(map[string]string)) (*wire.EmptyLogsOutput, error) {
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
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

func (a *API) listLogTags(_ *call.Call, in *wire.ListLogTagsInput) (*wire.LogTagsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return a.logTags(group)
}

func (a *API) listTagsLogGroup(_ *call.Call, in *wire.ListTagsLogGroupInput) (*wire.LogTagsOutput, error) {
	return a.logTags(aws.ToString(in.LogGroupName))
}

func (a *API) tagLogs(_ *call.Call, in *wire.TagLogsInput) (*wire.EmptyLogsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return a.tagLogGroup(nil, &wire.TagLogGroupInput{LogGroupName: &group, Tags: in.Tags})
}

func (a *API) tagLogGroup(_ *call.Call, in *wire.TagLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, call.Invalid("tags is required.")
	}
	return a.changeLogTags(aws.ToString(in.LogGroupName), func(tags map[string]string) { maps.Copy(tags, in.Tags) })
}

func (a *API) untagLogs(_ *call.Call, in *wire.UntagLogsInput) (*wire.EmptyLogsOutput, error) {
	group, err := groupOf(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return a.untagLogGroup(nil, &wire.UntagLogGroupInput{LogGroupName: &group, Tags: in.TagKeys})
}

// untagLogGroup removes tags. Unknown keys have no effect.
func (a *API) untagLogGroup(_ *call.Call, in *wire.UntagLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, call.Invalid("The keys of the tags are required.")
	}
	return a.changeLogTags(aws.ToString(in.LogGroupName), func(tags map[string]string) {
		for _, key := range in.Tags {
			delete(tags, key)
		}
	})
}
