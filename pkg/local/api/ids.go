package api

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// jobID returns the id of a job, child or node that a request names by its id or ARN; "" for nil.
func jobID(text *string) string { return model.ResourceName(aws.ToString(text), model.KindJob) }
