package local

import (
	"bytes"
	"unicode"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/wire"
)

// event is one fact; exactly one member is set. Facts are only ever added: a
// member keeps its name and meaning for ever, so that old journals stay readable.
type event struct {
	Queued       *Queue        `json:"queued,omitempty"`
	Registered   *registration `json:"registered,omitempty"`
	Deregistered *removal      `json:"deregistered,omitempty"`
	Submitted    *submission   `json:"submitted,omitempty"`
	Stopped      *stop         `json:"stopped,omitempty"`
	Moved        *move         `json:"moved,omitempty"`
	Explained    *explanation  `json:"explained,omitempty"`
	Started      *start        `json:"started,omitempty"`
	Launched     *launch       `json:"launched,omitempty"`
	Ended        *end          `json:"ended,omitempty"`

	QueueCreated       *shape[awsbatch.CreateJobQueueInput]           `json:"queueCreated,omitempty"`
	QueueUpdated       *shape[awsbatch.UpdateJobQueueInput]           `json:"queueUpdated,omitempty"`
	EnvironmentCreated *environmentCreation                           `json:"environmentCreated,omitempty"`
	EnvironmentUpdated *shape[awsbatch.UpdateComputeEnvironmentInput] `json:"environmentUpdated,omitempty"`
	PolicyCreated      *shape[awsbatch.CreateSchedulingPolicyInput]   `json:"policyCreated,omitempty"`
	PolicyUpdated      *shape[awsbatch.UpdateSchedulingPolicyInput]   `json:"policyUpdated,omitempty"`
	ConsumableCreated  *shape[awsbatch.CreateConsumableResourceInput] `json:"consumableCreated,omitempty"`
	ConsumableUpdated  *quantity                                      `json:"consumableUpdated,omitempty"`
	Deleted            *deletion                                      `json:"deleted,omitempty"`
	Tagged             *tagging                                       `json:"tagged,omitempty"`
}

// environmentCreation is a compute environment as CreateComputeEnvironment accepted it.
type environmentCreation struct {
	UUID    string                                        `json:"uuid"`
	Request shape[awsbatch.CreateComputeEnvironmentInput] `json:"request"`
}

// quantity is the new total of a consumable resource.
type quantity struct {
	Consumable string `json:"consumable"` // name
	Total      int64  `json:"total"`
	Token      string `json:"token,omitempty"` // clientToken of the request
}

// deletion takes a resource away.
type deletion struct {
	Resource resource `json:"resource"`
}

// tagging is all tags that a resource has from now on.
type tagging struct {
	Resource resource          `json:"resource"`
	Tags     map[string]string `json:"tags"`
}

// registration is a new revision of a job definition.
type registration struct {
	Revision   int32                                      `json:"revision"`
	Invocation string                                     `json:"invocation,omitempty"` // as in submission
	Request    shape[awsbatch.RegisterJobDefinitionInput] `json:"request"`
}

// removal makes a revision INACTIVE.
type removal struct {
	Definition string `json:"definition"` // name:revision
}

// submission is a job as SubmitJob accepted it.
type submission struct {
	ID         string `json:"id"`
	Definition string `json:"definition"` // name:revision
	Directory  string `json:"directory,omitempty"`
	// Invocation is the client's id of the call, the same on each of its retries.
	Invocation string `json:"invocation,omitempty"`
	// To is the state that the job is in at once, since it waits for no other; empty:
	// it is SUBMITTED until a move follows.
	To      state                          `json:"to,omitempty"`
	Request shape[awsbatch.SubmitJobInput] `json:"request"`

	// work is that of the request, where it is known already.
	work *work `json:"-"`
}

// stop is the wish of CancelJob or TerminateJob; what follows from it are moves
// and ends of their own.
type stop struct {
	Job       string `json:"job"` // id or id:index
	Terminate bool   `json:"terminate,omitempty"`
	Reason    string `json:"reason"`
}

// move is a change of state in which no attempt takes part.
type move struct {
	Job    string `json:"job"`
	All    bool   `json:"all,omitempty"` // all children of the array, not its parent
	To     state  `json:"to"`
	Reason string `json:"reason,omitempty"`
}

// explanation says why a RUNNABLE job does not start; empty: it may.
type explanation struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
	// Waits: what the job lacks may come by itself, so it keeps its place in the
	// line. Otherwise it stands aside until a queue or an environment changes.
	Waits bool `json:"waits,omitempty"`
}

// start reserves the machine for an attempt: RUNNABLE to STARTING.
type start struct {
	Job    string   `json:"job"`
	Stream string   `json:"stream"` // UUID of the log stream
	GPUs   []string `json:"gpus,omitempty"`
	// Environment is the compute environment that the attempt runs in; empty in
	// journals of engines that had one only.
	Environment string `json:"environment,omitempty"`
}

// launch says that the attempt runs: STARTING to RUNNING.
type launch struct {
	Job string `json:"job"`
	// Handle is what the executor finds the attempt by after a restart.
	Handle string `json:"handle,omitempty"`
}

// end is the end of an attempt and what becomes of the job.
type end struct {
	Job          string `json:"job"`
	Exit         *int32 `json:"exit,omitempty"`
	Reason       string `json:"reason,omitempty"`
	StatusReason string `json:"statusReason"`
	To           state  `json:"to"`
	// Executor is the name of the one that ran it; empty: unknown, as in journals of
	// older engines.
	Executor string `json:"executor,omitempty"`
	// Containers are those of a task of several, in the order of the definition.
	Containers []containerEnd `json:"containers,omitempty"`
}

// shape is a structure of the SDK that the journal keeps in its wire form, which
// does not change with the SDK's version.
type shape[T any] struct {
	V *T
	// text is V as the journal keeps it, where it is known.
	text []byte
}

// received is a shape with the text that it came in, which the journal keeps as it
// is if it is one line. Without a text it is made now: outside the engine's lock.
func received[T any](v *T, text []byte) (shape[T], error) {
	if text == nil || !plain(text) {
		var err error
		if text, err = wire.Marshal(v); err != nil {
			return shape[T]{}, err
		}
	}
	return shape[T]{v, text}, nil
}

// plain reports whether a text has no line break and nothing else that a reader of the
// journal would not see.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= 0x7f {
			return !bytes.ContainsFunc(text, unicode.IsControl)
		}
	}
	return true
}

func (s shape[T]) MarshalJSON() ([]byte, error) {
	if s.text != nil {
		return s.text, nil
	}
	return wire.Marshal(s.V)
}

func (s *shape[T]) UnmarshalJSON(data []byte) error {
	s.V = new(T)
	return wire.Unmarshal(data, s.V)
}
