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

// newJob returns the job of a submission, with its children. The JobTable that adds it gives it a place and a time.
func newJob(d *Definition, s *Submission) (*Job, error) {
	w, request := s.Work, s.Request.V
	if w == nil {
		var err error
		if w, err = WorkOf(d, request); err != nil {
			return nil, fmt.Errorf("submit job %s: %w", s.ID, err)
		}
	}
	j := &Job{ID: s.ID, Definition: d, Request: request, Directory: s.Directory, Work: *w}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	if request.ArrayProperties != nil {
		j.Children = make([]Task, aws.ToInt32(request.ArrayProperties.Size))
		for i := range j.Children {
			j.Children[i] = Task{Job: j, Index: int32(i)}
		}
	}
	return j, nil
}

// newServiceJob is newJob for a service job.
func newServiceJob(s *ServiceSubmission) (*Job, error) {
	in := s.Request.V
	training, err := ParseTraining(aws.ToString(in.ServiceRequestPayload))
	if err != nil || in.JobName == nil || in.JobQueue == nil {
		return nil, fmt.Errorf("submit service job %s: no name or queue, or %w", s.ID, err)
	}
	j := &Job{ID: s.ID, Service: &Service{Request: in, Training: training},
		Definition: &Definition{Request: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("")}},
		Request:    loweredService(in, training), Work: Work{Container: trainingContainer(training),
			Need: Amount{GPUs: training.gpus()}}}
	j.class = classOf(j)
	j.Task = Task{Job: j, Index: -1}
	return j, nil
}
