package stage

import (
	"fmt"
	"slices"
)

// Variables that AWS Batch sets in every job.
const (
	jobIDVariable   = "AWS_BATCH_JOB_ID"
	attemptVariable = "AWS_BATCH_JOB_ATTEMPT"
)

// MetadataVariable is set by Amazon ECS in every container: the URL of the endpoint that describes its task.
const MetadataVariable = "ECS_CONTAINER_METADATA_URI_V4"

// KnownOnECS reports whether locations can name a variable of AWS Batch in a task that ran without AWS Batch: the job's
// id is that of the task, and a task is the first attempt.
func KnownOnECS(name string) bool { return name == jobIDVariable || name == attemptVariable }

// Names returns the variables in the texts of a document, each once. A text that cannot be expanded has none.
func (d *Document) Names() (names []string) {
	add := func(texts ...string) {
		for _, text := range texts {
			all, _ := Variables(text)
			for _, name := range all {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	for _, in := range d.Inputs {
		add(in.From, in.To)
	}
	for _, out := range d.Outputs {
		add(out.From, out.To)
	}
	if d.Checkpoint != nil {
		add(d.Checkpoint.Path, d.Checkpoint.To, "${"+jobIDVariable+"}") // the id is part of each place
	}
	return names
}

// findTask finds the id of the ECS task that stands for the job's id, if a location needs it.
func (s *Stager) findTask(d *Document) (err error) {
	endpoint, _ := s.variable(MetadataVariable)
	if id, _ := s.variable(jobIDVariable); id != "" || endpoint == "" || s.TaskID == nil ||
		!slices.Contains(d.Names(), jobIDVariable) {
		return nil
	}
	if s.task, err = s.TaskID(endpoint); err != nil {
		return fmt.Errorf("${%s}: AWS Batch did not start this container, and the id of its ECS task is unknown: %w",
			jobIDVariable, err)
	}
	return nil
}

// onECS returns the value of a variable of AWS Batch in a task that ran without AWS Batch.
func (s *Stager) onECS(name string) (value string, ok bool) {
	switch endpoint, _ := s.variable(MetadataVariable); {
	case name == jobIDVariable && s.task != "":
		return s.task, true
	case name == attemptVariable && endpoint != "":
		return "1", true
	}
	return "", false
}
