package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"
)

func (p *program) queuesCommand() *cli.Command {
	return &cli.Command{
		Name:      "queues",
		Usage:     "show the job queues: what waits and runs in them, and on what",
		UsageText: "batchctl queues [FLAGS] [QUEUE ...]",
		Description: help("Counts the jobs of each queue that have not ended, and the children of arrays. CAPACITY is the most vCPUs of the\n"+
			"queue's compute environments together.",
			"batchctl queues\nbatchctl queues gpu --target prod\nbatchctl queues --output json"),
		Flags:  jobFlags(outputFlags()...),
		Action: p.queues,
	}
}

// queueState is what the command prints of a queue.
type queueState struct {
	Name         string                  `json:"name"`
	State        types.JQState           `json:"state"`
	Priority     int32                   `json:"priority"`
	Jobs         map[types.JobStatus]int `json:"jobs"`
	Environments []string                `json:"computeEnvironments"`
	// MaxvCpus is the sum over the environments; 0 where one has no bound.
	MaxvCpus int32 `json:"maxvCpus"`
}

func (p *program) queues(c *cli.Context) error {
	call, err := p.openFor(c, toRead)
	if err != nil {
		return err
	}
	defer call.close()
	queues, err := call.states(c.Context, c.Args().Slice())
	if err != nil {
		return err
	}
	if call.format == "json" {
		return p.writeJSON(queues)
	}
	if len(queues) == 0 {
		fmt.Fprintln(p.Err, "no queues")
		return nil
	}
	t := p.table("QUEUE", "STATE", "PRIORITY", "WAITING", "RUNNABLE", "STARTING", "RUNNING", "CAPACITY", "ENVIRONMENTS")
	for _, q := range queues {
		t.row(q.Name, string(q.State), strconv.Itoa(int(q.Priority)),
			strconv.Itoa(q.Jobs[types.JobStatusSubmitted]+q.Jobs[types.JobStatusPending]), strconv.Itoa(q.Jobs[types.JobStatusRunnable]),
			strconv.Itoa(q.Jobs[types.JobStatusStarting]), strconv.Itoa(q.Jobs[types.JobStatusRunning]),
			capacityOf(q), strings.Join(q.Environments, " "))
	}
	return t.flush()
}

func capacityOf(q queueState) string {
	if q.MaxvCpus == 0 {
		return "-"
	}
	return fmt.Sprintf("%d vCPUs", q.MaxvCpus)
}

// states describes the queues of these names or aliases, or all of them, by name.
func (call *jobCall) states(ctx context.Context, words []string) ([]queueState, error) {
	all, err := call.Queues(ctx)
	if err != nil {
		return nil, err
	}
	environments, err := call.Environments(ctx)
	if err != nil {
		return nil, err
	}
	asked := map[string]string{}
	for _, word := range words {
		name := word
		if call.platform != nil {
			if q, ok := call.platform.Queue(word); ok {
				name = q.Name
			}
		}
		asked[name] = word
	}
	states := []queueState{}
	for _, q := range all {
		name := aws.ToString(q.JobQueueName)
		if _, ok := asked[name]; !ok && len(words) > 0 {
			continue
		}
		delete(asked, name)
		s := queueState{Name: name, State: q.State, Priority: aws.ToInt32(q.Priority), Environments: []string{}}
		if s.Jobs, err = call.Depth(ctx, name); err != nil {
			return nil, err
		}
		s.add(q, environments)
		states = append(states, s)
	}
	for _, word := range asked {
		return nil, fail(ExitNotDone, "no queue %s here", word).try("see them all: batchctl queues")
	}
	slices.SortFunc(states, func(a, b queueState) int { return cmp.Compare(a.Name, b.Name) })
	return states, nil
}

// add adds what is known of the queue's compute environments, in their order.
func (s *queueState) add(q types.JobQueueDetail, environments []types.ComputeEnvironmentDetail) {
	bounded := true
	for _, o := range q.ComputeEnvironmentOrder {
		arn := aws.ToString(o.ComputeEnvironment)
		s.Environments = append(s.Environments, arn[strings.LastIndexByte(arn, '/')+1:])
		at := slices.IndexFunc(environments, func(e types.ComputeEnvironmentDetail) bool { return aws.ToString(e.ComputeEnvironmentArn) == arn })
		switch {
		case at < 0:
			bounded = false
		case environments[at].ComputeResources != nil:
			s.MaxvCpus += aws.ToInt32(environments[at].ComputeResources.MaxvCpus)
		default:
			s.MaxvCpus += aws.ToInt32(environments[at].UnmanagedvCpus)
		}
	}
	if !bounded {
		s.MaxvCpus = 0
	}
}
