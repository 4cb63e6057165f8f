package logsapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// standardClass is the class of a log group that names no other.
const standardClass = "STANDARD"

// groupClasses are the classes of log groups.
var groupClasses = []string{standardClass, "INFREQUENT_ACCESS", "DELIVERY"}

// maxGroups is the largest page of DescribeLogGroups (CloudWatch Logs API reference).
const maxGroups = 50

// groups has the operations on log groups.
type groups struct{ *service }

// createLogGroup records a log group. A group that exists because a job logs to it cannot be created
// again.
func (gs groups) createLogGroup(c *call.Call, in *wire.CreateLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(*in.LogGroupName, "aws/"):
		return nil, call.Invalid("logGroupName %q is not valid: it must not begin with aws/.", *in.LogGroupName)
	case in.LogGroupClass != "" && !slices.Contains(groupClasses, in.LogGroupClass):
		return nil, call.Invalid("logGroupClass %s is not valid. Valid classes: %v", in.LogGroupClass, groupClasses)
	}
	var unused []string
	if in.KmsKeyId != nil {
		unused = append(unused, "kmsKeyId")
	}
	if aws.ToBool(in.DeletionProtectionEnabled) {
		unused = append(unused, "deletionProtectionEnabled")
	}
	if err := checkLogTags(in.Tags); err != nil {
		return nil, err
	}
	err := gs.state.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] != nil {
			return nil, errGroupExists
		}
		return []model.Event{{LogGroupCreated: &model.LogGroupCreation{Group: *in.LogGroupName, Class: in.LogGroupClass,
			Tags: in.Tags}}}, nil
	})
	if err != nil {
		return nil, err
	}
	c.Remark("log groups of the local engine do not have these", unused)
	return &wire.EmptyLogsOutput{}, nil
}

// deleteLogGroup removes a group with its created streams and their events. It rejects a group that
// has logs of jobs. They are the only copy, running commands write to them, and the job history refers
// to them; the engine removes them with their jobs. Tools that delete a stack often
// delete its log groups too, and ignore the error. The default group always exists.
func (gs groups) deleteLogGroup(_ *call.Call, in *wire.DeleteLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	name := *in.LogGroupName
	var files []string
	err := gs.state.Change(func(m *model.Model) ([]model.Event, error) {
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
		_ = gs.store.RemovePut(file)
	}
	return &wire.EmptyLogsOutput{}, nil
}

// describeLogGroups returns a page of the groups that match the request, by name.
func (gs groups) describeLogGroups(_ *call.Call,
	in *wire.DescribeLogGroupsInput) (*wire.DescribeLogGroupsOutput, error) {
	limit := cmp.Or(aws.ToInt32(in.Limit), maxGroups)
	switch {
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > maxGroups):
		return nil, call.Invalid("limit must be between 1 and %d.", maxGroups)
	case in.LogGroupNamePrefix != nil && in.LogGroupNamePattern != nil:
		return nil, call.Invalid("Only one of logGroupNamePrefix and logGroupNamePattern can be given.")
	}
	m, done := gs.state.View()
	defer done()
	names := slices.DeleteFunc(call.SortedKeys(m.LogGroups), func(name string) bool {
		named := len(in.LogGroupIdentifiers) == 0 || slices.ContainsFunc(in.LogGroupIdentifiers,
			func(id string) bool { return groupName(nil, &id) == name })
		return !named || in.LogGroupClass != "" && in.LogGroupClass != groupClass(m.LogGroups[name]) ||
			!strings.HasPrefix(name, aws.ToString(in.LogGroupNamePrefix)) ||
			!strings.Contains(name, aws.ToString(in.LogGroupNamePattern))
	})
	page, next, err := call.Page(names, &limit, maxGroups, in.NextToken, func(name string) string { return name })
	if err != nil {
		return nil, errToken
	}
	out := &wire.DescribeLogGroupsOutput{LogGroups: []wire.LogGroup{}, NextToken: next}
	for _, name := range page {
		g := m.LogGroups[name]
		d := wire.LogGroup{LogGroupName: &name, Arn: aws.String(groupARN(name) + ":*"),
			LogGroupArn: aws.String(groupARN(name)), CreationTime: aws.Int64(g.CreatedAt),
			LogGroupClass: groupClass(g), MetricFilterCount: aws.Int32(0), StoredBytes: aws.Int64(0)}
		if g.RetentionDays > 0 {
			d.RetentionInDays = aws.Int32(g.RetentionDays)
		}
		out.LogGroups = append(out.LogGroups, d)
	}
	return out, nil
}

// groupClass returns the class of a log group.
func groupClass(g *model.LogGroup) string { return cmp.Or(g.Class, standardClass) }
