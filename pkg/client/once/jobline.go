package once

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/wire"
)

// line returns the intent's line in the log.
func (t *intent) line() (line, error) {
	l := line{Time: stamp(), What: lineIntent, Name: t.name, Submission: t.submission, After: t.after,
		Earlier: t.earlier,
		When:    t.when, Staged: t.staged, Resource: t.resource, Step: t.step, Notify: t.notify,
		At: t.at, Target: t.target, Again: t.retryOf, File: t.file, Cells: t.cells()}
	if t.resource != "" {
		l.MaxParallel = t.maxParallel
	}
	if t.definer >= 0 {
		l.Definer = &t.definer
	}
	var err error
	if t.register != nil {
		if l.Register, err = wire.Marshal(t.register); err != nil {
			return l, err
		}
	}
	if t.submit != nil {
		l.Queue = aws.ToString(t.submit.JobQueue)
		if l.Submit, err = wire.Marshal(t.submit); err != nil {
			return l, err
		}
		sum := sha256.Sum256(l.Submit)
		l.SHA256 = hex.EncodeToString(sum[:])
	}
	return l, nil
}

// taskOf returns the job of an intent. It verifies the request with its hash.
func taskOf(l line) (*plannedJob, error) {
	t := &plannedJob{state: state{sent: l.Submit != nil}, intent: intent{name: l.Name, submission: l.Submission, after: l.After,
		earlier: l.Earlier, definer: -1, staged: l.Staged, when: l.When, step: l.Step, resource: l.Resource,
		maxParallel: l.MaxParallel, notify: l.Notify, retryOf: l.Again, file: l.File}}
	if l.At != "" {
		t.at, t.target = l.At, l.Target
	}
	if l.Definer != nil {
		t.definer = *l.Definer
	}
	if l.Register != nil {
		t.register = &awsbatch.RegisterJobDefinitionInput{}
		if err := wire.Unmarshal(l.Register, t.register); err != nil {
			return nil, err
		}
	}
	if l.Submit == nil {
		return t, nil
	}
	if sum := sha256.Sum256(l.Submit); hex.EncodeToString(sum[:]) != l.SHA256 {
		return nil, errors.New("the request was changed: its sha256 does not match")
	}
	t.submit = &awsbatch.SubmitJobInput{}
	if err := wire.Unmarshal(l.Submit, t.submit); err != nil {
		return nil, err
	}
	// The sha256 does not cover the id that batchctl searches for the job with.
	if tag, tagged := t.submit.Tags[client.SubmissionTag]; tagged && tag != l.Submission {
		return nil, fmt.Errorf("the submission id was changed: the request's tag has %s", tag)
	}
	t.rungs = rungsOf(t.submit)
	return t, nil
}

// replay applies an outcome from the log.
func (t *plannedJob) replay(l line) {
	switch l.What {
	case lineAccepted:
		s := Submitted{Name: t.name, ID: l.ID, Definition: l.Definition, ArraySize: l.ArraySize,
			Again: t.runsAgain(), At: t.at}
		if t.submit != nil {
			s.Queue = aws.ToString(t.submit.JobQueue)
		}
		t.accept(s, l.Time)
		t.last = l.Time
	case lineRefused:
		t.sent = !t.unclear.IsZero() // an earlier request may still have been accepted
	case lineUnclear:
		t.sent = true
		t.suspect(l.Time)
	case lineChecked:
		t.doubt = pastDoubt
	case lineDropped:
		t.drop()
	case lineDue:
		t.release(l.Time)
	case lineSkipped:
		t.skip(l.Reason)
	case lineDuplicate:
		t.markEnding(l.ID)
	}
}
