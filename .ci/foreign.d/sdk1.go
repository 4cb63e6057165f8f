//go:build ignore

// Sdk1 runs jobs with version 1 of the AWS SDK for Go, which reads no endpoint from the environment.
package main

import (
	"log"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/batch"
	"github.com/aws/aws-sdk-go/service/cloudwatchlogs"
)

func main() {
	log.SetFlags(log.Lshortfile)
	s := session.Must(session.NewSession())
	b := batch.New(s, aws.NewConfig().WithEndpoint(os.Getenv("AWS_ENDPOINT_URL_BATCH")))
	logs := cloudwatchlogs.New(s, aws.NewConfig().WithEndpoint(os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS")))
	_, err := b.RegisterJobDefinition(&batch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("go"),
		Type: aws.String("container"),
		ContainerProperties: &batch.ContainerProperties{Image: aws.String("busybox"), Vcpus: aws.Int64(1),
			Memory: aws.Int64(64), Command: aws.StringSlice([]string{"echo", "Ref::who"})}})
	check(err)
	ids := []*string{}
	for _, name := range []string{"one", "two", "three"} {
		job, err := b.SubmitJob(&batch.SubmitJobInput{JobName: &name, JobQueue: aws.String("default"),
			JobDefinition: aws.String("go"), Parameters: map[string]*string{"who": &name},
			ArrayProperties:    &batch.ArrayProperties{},
			ContainerOverrides: &batch.ContainerOverrides{Environment: []*batch.KeyValuePair{}},
			DependsOn:          []*batch.JobDependency{}})
		check(err)
		ids = append(ids, job.JobId)
	}
	stream := ""
	for ended := 0; ended < len(ids); time.Sleep(100 * time.Millisecond) {
		out, err := b.DescribeJobs(&batch.DescribeJobsInput{Jobs: ids})
		check(err)
		ended = 0
		for _, j := range out.Jobs {
			if *j.Status == batch.JobStatusFailed {
				log.Fatalf("%s: %s", *j.JobName, aws.StringValue(j.StatusReason))
			}
			if *j.Status == batch.JobStatusSucceeded {
				stream, ended = *j.Container.LogStreamName, ended+1
			}
		}
	}
	events, err := logs.GetLogEvents(&cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/aws/batch/job"),
		LogStreamName: &stream})
	check(err)
	if len(events.Events) != 1 || !slices.Contains([]string{"one", "two", "three"}, *events.Events[0].Message) {
		log.Fatalf("events %v", events.Events)
	}
	listed := 0
	check(b.ListJobsPages(&batch.ListJobsInput{JobQueue: aws.String("default"), JobStatus: aws.String("SUCCEEDED"),
		MaxResults: aws.Int64(1), NextToken: aws.String("")},
		func(page *batch.ListJobsOutput, _ bool) bool { listed += len(page.JobSummaryList); return true }))
	if listed != len(ids) {
		log.Fatalf("%d jobs listed", listed)
	}
	_, err = b.SubmitJob(&batch.SubmitJobInput{JobName: aws.String("x"), JobQueue: aws.String("default"),
		JobDefinition: aws.String("missing")})
	if e, ok := err.(awserr.RequestFailure); !ok || e.Code() != batch.ErrCodeClientException || e.StatusCode() != 400 ||
		e.RequestID() == "" {
		log.Fatalf("error %v", err)
	}
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}
