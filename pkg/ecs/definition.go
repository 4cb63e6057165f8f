package ecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/wire"
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
func (c *Client) Register(ctx context.Context, d TaskDefinition) (Registered, error) {
	text, err := wire.Marshal(d)
	if err != nil {
		return Registered{}, err
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])[:32]
	latest, err := c.latest(ctx, d.Family)
	if err != nil {
		return Registered{}, err
	}
	if latest.has(hash) {
		return Registered{Arn: latest.arn()}, nil
	}
	r := Registered{Fresh: true}
	if latest.TaskDefinition != nil {
		r.Changes = plan.Diff(comparable(parsed(latest.TaskDefinition)), comparable(parsed(text)))
	}
	if len(d.Tags) < maxTags {
		d.Tags = append(slices.Clone(d.Tags), Tag{client.ContentTag, hash})
	}
	var out answer
	// A lost answer may leave a revision that nobody uses, with the same content.
	if err := c.call(ctx, "RegisterTaskDefinition", d, &out); err != nil {
		return Registered{}, err
	}
	r.Arn = out.arn()
	return r, nil
}

// answer is a task definition as ECS describes it.
type answer struct {
	TaskDefinition json.RawMessage
	Tags           []Tag
}

func (a answer) has(hash string) bool { return slices.Contains(a.Tags, Tag{client.ContentTag, hash}) }

func (a answer) arn() string { return parsed(a.TaskDefinition).Get("taskDefinitionArn").Str() }

// latest is the newest ACTIVE revision of a family, and the zero value if there is none:
// ECS says so with a ClientException.
func (c *Client) latest(ctx context.Context, family string) (a answer, err error) {
	err = c.call(ctx, "DescribeTaskDefinition", describeDefinition{family, []string{"TAGS"}}, &a)
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == "ClientException" {
		return answer{}, nil
	}
	return a, err
}

type describeDefinition struct {
	TaskDefinition string
	Include        []string
}

func parsed(text []byte) *jsontree.Node {
	root, _ := jsontree.Parse(diag.NewSource("", string(text)))
	return root
}

// comparable is a definition without what ECS alone writes, and without its tags, which
// stand beside it in the answer.
func comparable(n *jsontree.Node) *jsontree.Node {
	out := jsontree.NewObject(n)
	for m := range n.Children() {
		if !slices.Contains([]string{"taskDefinitionArn", "revision", "status", "requiresAttributes", "compatibilities", "registeredAt", "registeredBy", "tags", "enableFaultInjection"}, m.Name) {
			out.Set(m.Name, m.Clone())
		}
	}
	return out
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
func (c *Client) Logs(ctx context.Context, s State) ([]Log, error) {
	var a answer
	if err := c.call(ctx, "DescribeTaskDefinition", describeDefinition{TaskDefinition: s.TaskDefinitionArn}, &a); err != nil {
		return nil, err
	}
	var logs []Log
	for d := range parsed(a.TaskDefinition).Get("containerDefinitions").Children() {
		l := Log{Container: d.Get("name").Str(), Essential: d.Get("essential").Value() != false}
		config := d.Get("logConfiguration")
		l.Driver = config.Get("logDriver").Str()
		if o := config.Get("options"); l.Driver == "awslogs" && o.Get("awslogs-stream-prefix") != nil {
			l.Group, l.Stream = o.Get("awslogs-group").Str(), o.Get("awslogs-stream-prefix").Str()+"/"+l.Container+"/"+ID(s.TaskArn)
		}
		logs = append(logs, l)
	}
	return logs, nil
}

// Succeeded reports whether a task that has ended did what it was to do: every essential
// container ended by itself with exit code 0, as AWS Batch judges. A container that the
// logs do not name counts as essential.
func Succeeded(s State, logs []Log) bool {
	if s.StopCode != "" && s.StopCode != "EssentialContainerExited" {
		return false
	}
	ended := false
	for _, c := range s.Containers {
		if slices.ContainsFunc(logs, func(l Log) bool { return l.Container == c.Name && !l.Essential }) {
			continue
		}
		if c.ExitCode == nil || *c.ExitCode != 0 {
			return false
		}
		ended = true
	}
	return ended
}
