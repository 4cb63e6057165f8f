//go:build ignore

// Sdk2 runs jobs with version 2 of the AWS SDK for Go and the configuration of the environment.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

func main() {
	log.SetFlags(log.Lshortfile)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := config.LoadDefaultConfig(ctx)
	check(err)
	b, logs := batch.NewFromConfig(c), cloudwatchlogs.NewFromConfig(c)
	_, err = b.RegisterJobDefinition(ctx, &batch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("go"),
		Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"),
			Command: []string{"sh", "-c", "echo $AWS_BATCH_JOB_ARRAY_INDEX"},
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")},
				{Type: "MEMORY", Value: aws.String("64")}}}})
	check(err)
	job, err := b.SubmitJob(ctx, &batch.SubmitJobInput{JobName: aws.String("array"), JobQueue: aws.String("default"),
		JobDefinition: aws.String("go"), ArrayProperties: &types.ArrayProperties{Size: aws.Int32(5)},
		ContainerOverrides: &types.ContainerOverrides{}, DependsOn: []types.JobDependency{},
		RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(1)}})
	check(err)
	for status := types.JobStatus(""); status != types.JobStatusSucceeded; time.Sleep(100 * time.Millisecond) {
		out, err := b.DescribeJobs(ctx, &batch.DescribeJobsInput{Jobs: []string{*job.JobArn}})
		check(err)
		if status = out.Jobs[0].Status; status == types.JobStatusFailed {
			log.Fatal(aws.ToString(out.Jobs[0].StatusReason))
		}
	}
	children := 0
	for p := batch.NewListJobsPaginator(b, &batch.ListJobsInput{ArrayJobId: job.JobId,
		JobStatus: types.JobStatusSucceeded, MaxResults: aws.Int32(2)}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		check(err)
		children += len(page.JobSummaryList)
	}
	lines := 0
	for p := cloudwatchlogs.NewFilterLogEventsPaginator(logs,
		&cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/aws/batch/job"),
			LogStreamNamePrefix: aws.String("go/"), Limit: aws.Int32(2)}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		check(err)
		lines += len(page.Events)
	}
	if children != 5 || lines != 5 {
		log.Fatalf("%d children and %d lines, want 5", children, lines)
	}
	_, err = b.SubmitJob(ctx, &batch.SubmitJobInput{JobName: aws.String("x"), JobQueue: aws.String("default"),
		JobDefinition: aws.String("missing")})
	if _, ok := errors.AsType[*types.ClientException](err); !ok {
		log.Fatalf("error %v", err)
	}
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}
