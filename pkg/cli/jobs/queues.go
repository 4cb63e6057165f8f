package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// QueueState is a queue in the output of queues.
type QueueState struct {
	Name         string                  `json:"name"`
	State        types.JQState           `json:"state"`
	Priority     int32                   `json:"priority"`
	Jobs         map[types.JobStatus]int `json:"jobs"` // unfinished jobs and children by status
	Environments []string                `json:"computeEnvironments"`
	// EnvironmentStates describes those of Environments that exist, in the same order.
	EnvironmentStates []EnvironmentState `json:"computeEnvironmentDetails"`
	// MaxvCpus is the sum over the environments; 0 if one has no limit or is unknown.
	MaxvCpus int32 `json:"maxvCpus"`
	// Utilization is the capacity that the queue's jobs use, in total and per fair share.
	// It is absent if the credentials do not allow GetJobQueueSnapshot.
	Utilization Native[*types.QueueSnapshotUtilizationDetail] `json:"queueUtilization,omitzero"`
}

// EnvironmentState is a compute environment of a queue.
type EnvironmentState struct {
	Name         string         `json:"name"`
	State        types.CEState  `json:"state"`
	Status       types.CEStatus `json:"status,omitempty"`
	StatusReason string         `json:"statusReason,omitempty"`
	// Type is MANAGED or UNMANAGED, Resources that of its computeResources, such as SPOT.
	Type      types.CEType `json:"type,omitempty"`
	Resources types.CRType `json:"resourceType,omitempty"`
	// The vCPUs are absent where the environment has no such limit.
	MinvCpus     *int32 `json:"minvCpus,omitempty"`
	DesiredvCpus *int32 `json:"desiredvCpus,omitempty"`
	MaxvCpus     *int32 `json:"maxvCpus,omitempty"`
}

// environmentState returns what is shown of an environment.
func environmentState(e types.ComputeEnvironmentDetail) EnvironmentState {
	s := EnvironmentState{Name: aws.ToString(e.ComputeEnvironmentName), State: e.State, Status: e.Status, StatusReason: aws.ToString(e.StatusReason), Type: e.Type}
	if r := e.ComputeResources; r != nil {
		s.Resources, s.MinvCpus, s.DesiredvCpus, s.MaxvCpus = r.Type, r.MinvCpus, r.DesiredvCpus, r.MaxvCpus
	} else {
		s.MaxvCpus = e.UnmanagedvCpus
	}
	return s
}

// Native is an SDK shape inside batchctl's own JSON. It has the member names of
// the AWS API.
type Native[T any] struct{ Shape T }

// MarshalJSON returns the shape as the AWS API writes it.
func (n Native[T]) MarshalJSON() ([]byte, error) { return wire.Marshal(n.Shape) }

// queues is batchctl queues.
func queues(ctx context.Context, con *term.Console, o Options) error {
	call, err := OpenFor(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	queues, denied, err := call.states(ctx, o.Args)
	if err != nil {
		return err
	}
	if denied != nil {
		fmt.Fprintf(con.Err, "note: what jobs hold is not shown: %s\n", diag.Printable(con.Redacted(denied.Error())))
	}
	if call.Format == "json" {
		return con.MaskedJSON(queues)
	}
	if len(queues) == 0 {
		fmt.Fprintln(con.Err, "no queues")
		return nil
	}
	return PrintQueues(con, queues)
}

// PrintQueues prints queues as a table. The column SHARES appears only if a queue
// has fair shares.
func PrintQueues(con *term.Console, queues []QueueState) error {
	head := []string{"QUEUE", "STATE", "PRIORITY", "WAITING", "RUNNABLE", "STARTING", "RUNNING", "IN USE", "CAPACITY", "ENVIRONMENTS"}
	shared := slices.ContainsFunc(queues, QueueState.isShared)
	if shared {
		head = append(head, "SHARES")
	}
	t := con.Table(head...)
	for _, q := range queues {
		cells := []string{q.Name, string(q.State), strconv.Itoa(int(q.Priority)),
			strconv.Itoa(q.Jobs[types.JobStatusSubmitted] + q.Jobs[types.JobStatusPending]), strconv.Itoa(q.Jobs[types.JobStatusRunnable]),
			strconv.Itoa(q.Jobs[types.JobStatusStarting]), strconv.Itoa(q.Jobs[types.JobStatusRunning]),
			cmp.Or(q.InUse(), "-"), capacityOf(q), strings.Join(q.Environments, " ")}
		if shared {
			cells = append(cells, cmp.Or(q.Shares(), "-"))
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// capacityOf formats MaxvCpus; "-" if there is no limit.
func capacityOf(q QueueState) string {
	if q.MaxvCpus == 0 {
		return "-"
	}
	return fmt.Sprintf("%d vCPUs", q.MaxvCpus)
}

// VCPUUnit is the capacity unit of vCPUs in snapshots. Queues of service
// environments have other units.
const VCPUUnit = "VCPU"

// quantity formats a capacity with its unit, such as "4 vCPUs".
func quantity(n *float64, unit *string) string {
	text := strconv.FormatFloat(aws.ToFloat64(n), 'f', -1, 64)
	switch u := aws.ToString(unit); {
	case u == VCPUUnit && aws.ToFloat64(n) == 1:
		return text + " vCPU"
	case u == VCPUUnit:
		return text + " vCPUs"
	default:
		return strings.TrimSpace(text + " " + u)
	}
}

// InUse formats the capacity that the queue's jobs use; "" if it is unknown.
func (q QueueState) InUse() string {
	if q.Utilization.Shape == nil {
		return ""
	}
	var parts []string
	for _, u := range q.Utilization.Shape.TotalCapacityUsage {
		parts = append(parts, quantity(u.Quantity, u.CapacityUnit))
	}
	return term.JoinClauses(parts...)
}

// isShared reports whether the queue has a fair-share policy and its use is
// known.
func (q QueueState) isShared() bool {
	return q.Utilization.Shape != nil && q.Utilization.Shape.FairshareUtilization != nil
}

// Shares formats the use of the fair shares, the largest first. The service
// reports only the largest ones; the others are counted.
func (q QueueState) Shares() string {
	if !q.isShared() {
		return ""
	}
	fair := q.Utilization.Shape.FairshareUtilization
	var parts []string
	for _, s := range fair.TopCapacityUtilization {
		text := aws.ToString(s.ShareIdentifier)
		for _, u := range s.CapacityUsage {
			text += " " + quantity(u.Quantity, u.CapacityUnit)
		}
		parts = append(parts, text)
	}
	if more := aws.ToInt64(fair.ActiveShareCount) - int64(len(parts)); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return term.JoinClauses(parts...)
}

// states returns the queues with these names or aliases, or all queues, sorted by
// name. If the credentials do not allow snapshots, it leaves out the capacity in
// use, and denied is the reason.
func (call *Call) states(ctx context.Context, names []string) (states []QueueState, denied, err error) {
	if states, err = call.Described(ctx, names); err != nil {
		return nil, nil, err
	}
	for i := range states {
		s := &states[i]
		if s.Jobs, err = call.Depth(ctx, s.Name); err != nil {
			return nil, nil, err
		}
		snapshot, err := call.QueueSnapshot(ctx, s.Name)
		switch {
		case err == nil:
			s.Utilization.Shape = snapshot.QueueUtilization
		case client.SnapshotDenied(err):
			denied = err
		default:
			return nil, nil, err
		}
	}
	return states, denied, nil
}

// Described returns queues without the counts of their jobs, sorted by name. It
// needs two calls. names are names, ARNs or aliases; an empty list means all
// queues.
func (call *Call) Described(ctx context.Context, names []string) ([]QueueState, error) {
	all, err := call.Queues(ctx)
	if err != nil {
		return nil, err
	}
	environments, err := call.Environments(ctx)
	if err != nil {
		return nil, err
	}
	// Each found queue is removed, so the rest are missing.
	asked := map[string]string{}
	for _, arg := range names {
		asked[call.queueName(arg)] = arg
	}
	states := []QueueState{}
	for _, q := range all {
		name := aws.ToString(q.JobQueueName)
		arn := aws.ToString(q.JobQueueArn)
		_, byName := asked[name]
		_, byARN := asked[arn]
		if !byName && !byARN && len(names) > 0 {
			continue
		}
		delete(asked, name)
		delete(asked, arn)
		s := QueueState{Name: name, State: q.State, Priority: aws.ToInt32(q.Priority), Environments: []string{}, EnvironmentStates: []EnvironmentState{}}
		s.add(q, environments)
		states = append(states, s)
	}
	for _, arg := range names {
		if _, missing := asked[call.queueName(arg)]; missing {
			return nil, exit.Fail(exit.NotDone, "no queue %s here", arg).Try("see them all: batchctl queues%s", call.Flags)
		}
	}
	stable.Sort(states, func(a, b QueueState) int { return cmp.Compare(a.Name, b.Name) })
	return states, nil
}

// HasQueue reports whether an argument names one of the queues: by its name, ARN
// or alias.
func (call *Call) HasQueue(states []QueueState, arg string) bool {
	name := batch.Name(call.queueName(arg))
	return slices.ContainsFunc(states, func(s QueueState) bool { return s.Name == name })
}

// queueName returns the queue of an alias in the platform file. It returns other
// arguments unchanged.
func (call *Call) queueName(arg string) string {
	if call.Platform != nil {
		if q, ok := call.Platform.Queue(arg); ok {
			return q.Name
		}
	}
	return arg
}

// add adds the queue's compute environments in their order.
func (s *QueueState) add(q types.JobQueueDetail, environments []types.ComputeEnvironmentDetail) {
	bounded := true
	for _, o := range q.ComputeEnvironmentOrder {
		arn := aws.ToString(o.ComputeEnvironment)
		s.Environments = append(s.Environments, batch.Name(arn))
		at := slices.IndexFunc(environments, func(e types.ComputeEnvironmentDetail) bool { return aws.ToString(e.ComputeEnvironmentArn) == arn })
		if at >= 0 {
			s.EnvironmentStates = append(s.EnvironmentStates, environmentState(environments[at]))
		}
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

// IsNoSuchQueue reports whether the service answered that a queue does not exist.
func IsNoSuchQueue(err error) bool { return strings.Contains(err.Error(), "does not exist") }
