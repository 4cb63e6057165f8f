package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// NoSuchPartError reports an argument such as train:77 whose job exists, but not its child, node or
// attempt.
type NoSuchPartError struct {
	// Argument is the user's text, Why what the job has instead.
	Argument, Why string
	// Use is a valid argument to suggest.
	Use string
	// Attempt is the number in an argument such as train:7#2, or train#2 for a job without nodes; 0
	// for none. Only some commands accept an attempt.
	Attempt int
}

// Error names the argument and what the job has instead.
func (e *NoSuchPartError) Error() string { return fmt.Sprintf("no job %s: %s", e.Argument, e.Why) }

// parts is how many children and nodes a job has.
type parts struct{ children, nodes int }

// checkSuffix reports whether the job with the id base has the child or node in the suffix.
// DescribeJobs omits both ids that do not exist and ids that it has forgotten, so only the job
// itself shows the difference. arg is the user's text, for the error.
func (j *Jobs) checkSuffix(ctx context.Context, arg, base, suffix string) error {
	if suffix == "" {
		return nil
	}
	name, _ := batch.SplitID(arg)
	if fullID().MatchString(name) {
		name = batch.ShortID(name)
	}
	mark, text := suffix[:1], suffix[1:]
	wrong := &NoSuchPartError{Argument: arg}
	if child, attempt, both := strings.Cut(text, "#"); both && mark == ":" {
		wrong.Why, wrong.Use = "only batchctl replay accepts an attempt after the index", name+":"+child
		wrong.Attempt, _ = parseIndex(attempt)
		return cmp.Or(j.checkSuffix(ctx, name+":"+child, base, ":"+child), error(wrong))
	}
	have, known, err := j.partsOf(ctx, base)
	if err != nil {
		return err
	}
	index, syntax := parseIndex(text)
	among := func(n int) bool { return syntax == nil && index < n }
	switch {
	case !known && syntax == nil, mark == ":" && among(have.children), mark == "#" && among(have.nodes):
		return nil
	case !known:
		wrong.Why, wrong.Use = fmt.Sprintf("%q is not an index", text), name+mark+"0"
	case mark == ":" && have.children > 0:
		wrong.Why, wrong.Use = fmt.Sprintf("%s has %s", name, childRange("child", "children", have.children)),
			name+":"+strconv.Itoa(have.children-1)
	case mark == "#" && have.nodes > 0:
		wrong.Why, wrong.Use = fmt.Sprintf("%s has %s", name, childRange("node", "nodes", have.nodes)),
			name+"#"+strconv.Itoa(have.nodes-1)
	case have.children > 0:
		wrong.Why, wrong.Use = name+" is an array: write its children with a colon", name+":0"
	case have.nodes > 0:
		wrong.Why, wrong.Use = name+" has nodes: write them with #", name+"#0"
	case mark == ":":
		wrong.Why, wrong.Use = name+" is not an array", name
	default:
		wrong.Why, wrong.Use, wrong.Attempt = name+" does not have several nodes", name, index
	}
	return wrong
}

// childRange returns `children 0 to 9`, or `child 0` for one.
func childRange(one, several string, n int) string {
	if n == 1 {
		return one + " 0"
	}
	return fmt.Sprintf("%s 0 to %d", several, n-1)
}

// parseIndex parses an index as AWS Batch writes it: digits, without a sign or leading zeros.
func parseIndex(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < 0 || strconv.Itoa(n) != text) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// partsOf returns how many children or nodes a job has, from the memory or the service. known is
// false when neither has the job.
func (j *Jobs) partsOf(ctx context.Context, id string) (have parts, known bool, err error) {
	if j.Memory != nil {
		if have.children, err = j.Memory.Children(id); err != nil || have.children > 0 {
			return have, err == nil, err
		}
	}
	jobs, err := j.ByID(ctx, []string{id})
	if err != nil {
		return have, false, err
	}
	job, ok := jobs[id]
	if !ok {
		return have, false, nil
	}
	return parts{batch.ArraySize(job), Nodes(job)}, true, nil
}

// Nodes returns the number of nodes of a multi-node job; 0 for any other job, or for a node.
func Nodes(job types.JobDetail) int {
	if job.NodeProperties == nil || job.NodeDetails != nil {
		return 0
	}
	return int(aws.ToInt32(job.NodeProperties.NumNodes))
}

// NodeID returns the id of a node of a multi-node job.
func NodeID(job string, index int) string { return job + "#" + strconv.Itoa(index) }
