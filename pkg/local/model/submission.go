package model

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// classOf returns the class of a job: its position in the queue depends only on it and the order
// of submission.
func classOf(j *Job) class {
	c := class{platform: j.Definition.Platform()}
	for _, r := range j.Consumes {
		c.consumes += fmt.Sprintf("%s=%d,", r.Name, r.Quantity)
	}
	if j.Service != nil {
		c.unit = j.Service.Training.Unit()
	}
	if j.Request.ShareIdentifier != nil {
		c.share, c.priority = *j.Request.ShareIdentifier, aws.ToInt32(j.SchedulingPriority())
	}
	return c
}

// submit adds a job with its children, as SUBMITTED or in the state that the event names.
func (m *Model) submit(at int64, s *Submission) error {
	d, request := m.Definition(s.Definition), s.Request.V
	if d == nil || s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit job %q: unknown job definition %q, or the job exists", s.ID, s.Definition)
	}
	w := s.Work
	if w == nil {
		var err error
		if w, err = WorkOf(d, request); err != nil {
			return fmt.Errorf("submit job %s: %w", s.ID, err)
		}
	}
	j := &Job{ID: s.ID, Seq: int64(len(m.BySubmission)), CreatedAt: at, TallyAt: at, Definition: d, Request: request,
		Directory: s.Directory, Work: *w}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	if request.ArrayProperties != nil {
		j.Children = make([]Task, aws.ToInt32(request.ArrayProperties.Size))
		for i := range j.Children {
			j.Children[i] = Task{Job: j, Index: int32(i)}
		}
	}
	m.add(at, j, s.Invocation)
	if s.To != NoState {
		return m.moveOne(at, &j.Task, s.To, "")
	}
	return nil
}

// submitService adds a service job. It waits for no other job, so it is RUNNABLE at once.
func (m *Model) submitService(at int64, s *ServiceSubmission) error {
	if s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit service job %q: the job exists, or has no id", s.ID)
	}
	in := s.Request.V
	training, err := ParseTraining(aws.ToString(in.ServiceRequestPayload))
	if err != nil || in.JobName == nil || in.JobQueue == nil {
		return fmt.Errorf("submit service job %s: no name or queue, or %w", s.ID, err)
	}
	j := &Job{ID: s.ID, Seq: int64(len(m.BySubmission)), CreatedAt: at, TallyAt: at, Service: &Service{Request: in, Training: training},
		Definition: &Definition{Request: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("")}},
		Request:    loweredService(in, training), Work: Work{Container: trainingContainer(training), Need: Amount{GPUs: training.gpus()}}}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	m.add(at, j, s.Invocation)
	if in.ClientToken != nil {
		m.tokens[*in.ClientToken] = j
	}
	return m.moveOne(at, &j.Task, Runnable, "")
}
