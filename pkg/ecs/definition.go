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

// maxTags is the maximum number of tags of an ECS resource (Amazon ECS service
// quotas).
const maxTags = 50

// Registered is a revision of a task definition.
type Registered struct {
	Arn string
	// Fresh reports whether this call registered the revision.
	Fresh bool
	// Changes are the differences from the revision before, if this one is fresh.
	Changes []plan.Change
}

// Register returns the latest ACTIVE revision of the family if it has this
// content. If not, it registers a new one. It compares the hash in the tag
// client.ContentTag, because ECS adds defaults to the content.
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

// latest returns the newest ACTIVE revision of a family. It returns nil if ECS
// answers with a ClientException, which means that there is no such revision.
func (c *Client) latest(ctx context.Context, family *string) (*awsecs.DescribeTaskDefinitionOutput, error) {
	out, err := call(ctx, c, c.api.DescribeTaskDefinition, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: family,
		Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags}})
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == "ClientException" {
		return nil, nil
	}
	if err == nil && out.TaskDefinition == nil {
		err = fmt.Errorf("the answer of ECS does not contain task definition %s", aws.ToString(family))
	}
	return out, err
}

// registration returns a revision without the members that only ECS sets.
func registration(d *types.TaskDefinition) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{
		Family: d.Family, ContainerDefinitions: d.ContainerDefinitions, Cpu: d.Cpu, Memory: d.Memory,
		EphemeralStorage: d.EphemeralStorage,
		ExecutionRoleArn: d.ExecutionRoleArn, TaskRoleArn: d.TaskRoleArn, IpcMode: d.IpcMode, PidMode: d.PidMode,
		NetworkMode:          d.NetworkMode,
		PlacementConstraints: d.PlacementConstraints, ProxyConfiguration: d.ProxyConfiguration,
		RequiresCompatibilities: d.RequiresCompatibilities, RuntimePlatform: d.RuntimePlatform, Volumes: d.Volumes,
	}
}

// parsed parses JSON that is known to be valid.
func parsed(text []byte) *jsontree.Node {
	root, _ := jsontree.Parse(diag.NewSource("", string(text)))
	return root
}

// Log is the location of a container's log.
type Log struct {
	Container string
	// Essential reports whether the task ends with this container.
	Essential bool
	// Group and Stream are those of CloudWatch Logs; "" if the log is elsewhere.
	Group, Stream string
	// Driver is the log driver.
	Driver string
}

// Logs returns where the logs of a task's containers are, from its definition.
func (c *Client) Logs(ctx context.Context, task, definition string) ([]Log, error) {
	out, err := call(ctx, c, c.api.DescribeTaskDefinition,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: &definition})
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

// Succeeded reports whether an ended task succeeded, by the rule of AWS Batch:
// every essential container exited with 0. A container that logs does not name
// counts as essential.
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
