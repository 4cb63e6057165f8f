package local

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// definition is one revision of a job definition.
type definition struct {
	revision int32
	request  *awsbatch.RegisterJobDefinitionInput
	inactive bool
}

func (d *definition) name() string { return *d.request.JobDefinitionName }

// id is the definition's name:revision.
func (d *definition) id() string { return d.name() + ":" + strconv.Itoa(int(d.revision)) }

// job is one SubmitJob: what its task and, in an array, its children share.
type job struct {
	task
	id         string
	seq        int64 // order of submission
	createdAt  int64 // epoch milliseconds
	definition *definition
	request    *awsbatch.SubmitJobInput
	directory  string // where its commands run; empty: an own scratch directory
	work
	class      class
	children   []task
	tally      [failed + 1]int32 // children by state
	tallyAt    int64
	dependents []*job
}

// work is what a job runs and asks for: its definition with the request's overrides.
type work struct {
	container *types.ContainerProperties // of several the leading one
	parts     []part                     // of a task of several containers
	pod       *types.EksPodPropertiesDetail
	need      amount // of each attempt
	consumes  []requirement
}

func workOf(d *definition, in *awsbatch.SubmitJobInput) (*work, error) {
	consumes := requirements(d.request, in)
	if d.request.EksProperties != nil {
		pod, err := podOf(d.request.EksProperties, in.EksPropertiesOverride)
		return &work{container: &types.ContainerProperties{}, pod: pod, consumes: consumes}, err
	}
	c, parts, need, err := requests(d, in)
	return &work{container: c, parts: parts, need: need, consumes: consumes}, err
}

// task is what has a state: a job, the parent of an array, or one of its children.
type task struct {
	job       *job
	index     int32 // in the array; -1: the job itself
	state     state
	cancelled bool
	// terminated also ends what runs; both leave their reason in stopReason.
	terminated bool
	stopReason string
	reason     string // statusReason
	reasonAt   int64  // when the reason was given
	since      int64  // when it came into its state
	parked     bool   // RUNNABLE, and not in line: no environment can hold it
	startedAt  int64
	stoppedAt  int64
	attempts   []attempt
}

// attempt is one run of a task.
type attempt struct {
	stream       string
	handle       string
	gpus         []string
	place        *environment // nil in journals of engines that had one only
	startedAt    int64
	stoppedAt    int64
	exit         *int32
	reason       string
	statusReason string
	executor     string         // that ran it; empty: unknown, or it has not ended
	containers   []containerEnd // of a task of several
}

func (t *task) isParent() bool { return t.index < 0 && len(t.job.children) > 0 }

func (t *task) isChild() bool { return t.index >= 0 }

// id is the job's id, with :index for a child.
func (t *task) id() string {
	if t.isChild() {
		return t.job.id + ":" + strconv.Itoa(int(t.index))
	}
	return t.job.id
}

// compare is the order of submission.
func (t *task) compare(u *task) int {
	return cmp.Or(cmp.Compare(t.job.seq, u.job.seq), cmp.Compare(t.index, u.index))
}

// last is the newest attempt; nil when there is none.
func (t *task) last() *attempt {
	if len(t.attempts) == 0 {
		return nil
	}
	return &t.attempts[len(t.attempts)-1]
}

// active is the attempt that is under way; nil when none is.
func (t *task) active() *attempt {
	if t.state == starting || t.state == running {
		return t.last()
	}
	return nil
}

// stopped returns the reason with which the task, or its array, is to be ended.
func (t *task) stopped() (reason string, ok bool) {
	if t.cancelled || t.terminated {
		return t.stopReason, true
	}
	if p := &t.job.task; t.isChild() && (p.cancelled || p.terminated) {
		return p.stopReason, true
	}
	return "", false
}

// retry is the strategy that holds for the job: the request's before the definition's.
func (j *job) retry() *types.RetryStrategy {
	if j.request.RetryStrategy != nil {
		return j.request.RetryStrategy
	}
	return j.definition.request.RetryStrategy
}

// timeout is the longest time of an attempt in seconds; 0: none.
func (j *job) timeout() int32 {
	t := j.request.Timeout
	if t == nil {
		t = j.definition.request.Timeout
	}
	if t == nil {
		return 0
	}
	return aws.ToInt32(t.AttemptDurationSeconds)
}

// schedulingPriority is the job's place in its share: the request's before the
// definition's.
func (j *job) schedulingPriority() *int32 {
	if j.request.SchedulingPriorityOverride != nil {
		return j.request.SchedulingPriorityOverride
	}
	return j.definition.request.SchedulingPriority
}

// parameters are the definition's with the request's on top.
func (j *job) parameters() map[string]string {
	return merged(j.definition.request.Parameters, j.request.Parameters)
}

// ordered is a list of tasks in the order of submission.
type ordered []*task

func (o *ordered) insert(t *task) {
	if n := len(*o); n == 0 || (*o)[n-1].compare(t) < 0 {
		*o = append(*o, t)
		return
	}
	at, _ := slices.BinarySearchFunc(*o, t, (*task).compare)
	*o = slices.Insert(*o, at, t)
}

func (o *ordered) remove(t *task) {
	at, ok := slices.BinarySearchFunc(*o, t, (*task).compare)
	switch {
	case !ok:
	case at == 0: // jobs mostly leave at the head; nothing is moved then
		(*o)[0] = nil
		*o = (*o)[1:]
	default:
		*o = slices.Delete(*o, at, at+1)
	}
}

// splitID returns the job id and the index of an id:index; -1: no index.
func splitID(id string) (job string, index int32, ok bool) {
	if !strings.Contains(id, ":") {
		return id, -1, true
	}
	job, n, ok := batch.SplitChildID(id)
	return job, int32(n), ok
}

func (d *definition) fargate() bool {
	return slices.Contains(d.request.PlatformCapabilities, types.PlatformCapabilityFargate)
}
