package model

import (
	"strings"
)

// longestTraining is SageMaker's limit on the length of TrainingJobName (API reference).
const longestTraining = 63

// TrainingName returns the name of the training job of an attempt. Batch puts it together from its own
// prefix, the name in the payload and an id (user guide, "Getting started with AWS Batch on SageMaker
// AI"). How it shortens a long name is not documented; here the id stays.
func (j *Job) TrainingName(a *Attempt) string {
	const prefix = "AWSBatch"
	id := strings.ReplaceAll(a.Stream, "-", "")
	name := j.Service.Training.Name
	return prefix + name[:min(len(name), max(longestTraining-len(prefix)-len(id), 0))] + id
}

// TrainingARN returns the ARN of the training job of an attempt.
func (j *Job) TrainingARN(a *Attempt) string {
	return "arn:aws:sagemaker:" + Region + ":" + Account + ":training-job/" + j.TrainingName(a)
}

// TrainingLogGroup is the log group of training jobs.
const TrainingLogGroup = "/aws/sagemaker/TrainingJobs"

// trainingStream returns the name of the log stream of an attempt: that of its training job and of its
// only host.
func (j *Job) trainingStream(a *Attempt) string { return j.TrainingName(a) + "/algo-1-" + a.Stream }
