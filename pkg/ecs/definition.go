package ecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// maxTags is the most tags that a task definition can have.
const maxTags = 50

// Registered is a revision of a task definition.
type Registered struct {
	Arn string
	// Fresh says that it was registered just now.
	Fresh bool
	// Changes is how it differs from the revision before, if it is fresh and there is one.
	Changes []plan.Change
}

// Register returns the latest ACTIVE revision of the family if it has this content, and
// registers another one if not. Content is known by its hash in the tag
// client.ContentTag: ECS fills in what was left out.
func (c *Client) Register(ctx context.Context, d awsecs.RegisterTaskDefinitionInput) (Registered, error) {
	text, err := body(&d)
	if err != nil {
		return Registered{}, err
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])[:32]
	latest, err := c.latest(ctx, d.Family)
	if err != nil {
		return Registered{}, err
	}
	if latest != nil && slices.ContainsFunc(latest.Tags, func(t types.Tag) bool {
		return aws.ToString(t.Key) == client.ContentTag && aws.ToString(t.Value) == hash
	}) {
		return Registered{Arn: aws.ToString(latest.TaskDefinition.TaskDefinitionArn)}, nil
	}
	r := Registered{Fresh: true}
	if latest != nil {
		before, err := body(registration(latest.TaskDefinition))
		if err != nil {
			return Registered{}, err
		}
		d := d
		d.Tags = nil
		if text, err = body(&d); err != nil {
			return Registered{}, err
		}
		r.Changes = plan.Diff(parsed(before), parsed(text))
	}
	if len(d.Tags) < maxTags {
		d.Tags = append(slices.Clone(d.Tags), tag(client.ContentTag, hash))
	}
	// A lost answer may leave a revision that no one uses, with the same content.
	out, err := call(ctx, c, c.api.RegisterTaskDefinition, &d)
	if err != nil {
		return Registered{}, err
	}
	r.Arn = aws.ToString(out.TaskDefinition.TaskDefinitionArn)
	return r, nil
}

// latest is the newest ACTIVE revision of a family, and nil if there is none: ECS says so
// with a ClientException.
func (c *Client) latest(ctx context.Context, family *string) (*awsecs.DescribeTaskDefinitionOutput, error) {
	out, err := call(ctx, c, c.api.DescribeTaskDefinition, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: family, Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags}})
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == "ClientException" {
		return nil, nil
	}
	if err == nil && out.TaskDefinition == nil {
		err = fmt.Errorf("ECS describes no task definition %s", aws.ToString(family))
	}
	return out, err
}

// registration is a revision without what ECS alone writes.
func registration(d *types.TaskDefinition) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{
		Family: d.Family, ContainerDefinitions: d.ContainerDefinitions, Cpu: d.Cpu, Memory: d.Memory, EphemeralStorage: d.EphemeralStorage,
		ExecutionRoleArn: d.ExecutionRoleArn, TaskRoleArn: d.TaskRoleArn, IpcMode: d.IpcMode, PidMode: d.PidMode, NetworkMode: d.NetworkMode,
		PlacementConstraints: d.PlacementConstraints, ProxyConfiguration: d.ProxyConfiguration,
		RequiresCompatibilities: d.RequiresCompatibilities, RuntimePlatform: d.RuntimePlatform, Volumes: d.Volumes,
	}
}

func parsed(text []byte) *jsontree.Node {
	root, _ := jsontree.Parse(diag.NewSource("", string(text)))
	return root
}

// Log says where a container's log is.
type Log struct {
	Container string
	// Essential says that the task ends with this container.
	Essential bool
	// Group and Stream are of CloudWatch Logs; "" where the log is elsewhere.
	Group, Stream string
	// Driver is the log driver.
	Driver string
}

// Logs returns where the logs of a task's containers are, as its definition says.
func (c *Client) Logs(ctx context.Context, task, definition string) ([]Log, error) {
	out, err := call(ctx, c, c.api.DescribeTaskDefinition, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: &definition})
	if err != nil || out.TaskDefinition == nil {
		return nil, err
	}
	var logs []Log
	for _, d := range out.TaskDefinition.ContainerDefinitions {
		l := Log{Container: aws.ToString(d.Name), Essential: d.Essential == nil || *d.Essential}
		if config := d.LogConfiguration; config != nil {
			l.Driver = string(config.LogDriver)
			if prefix, ok := config.Options["awslogs-stream-prefix"]; ok && config.LogDriver == types.LogDriverAwslogs {
				l.Group, l.Stream = config.Options["awslogs-group"], prefix+"/"+l.Container+"/"+ID(task)
			}
		}
		logs = append(logs, l)
	}
	return logs, nil
}

// Succeeded reports whether a task that has ended did what it was to do: every essential
// container ended on its own with exit code 0, as AWS Batch judges. A container that the
// logs do not name counts as essential.
func Succeeded(t *types.Task, logs []Log) bool {
	if t.StopCode != "" && t.StopCode != types.TaskStopCodeEssentialContainerExited {
		return false
	}
	ended := false
	for _, c := range t.Containers {
		if slices.ContainsFunc(logs, func(l Log) bool { return l.Container == aws.ToString(c.Name) && !l.Essential }) {
			continue
		}
		if c.ExitCode == nil || *c.ExitCode != 0 {
			return false
		}
		ended = true
	}
	return ended
}
