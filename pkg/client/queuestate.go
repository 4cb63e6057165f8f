package client

import (
	"context"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// DisableQueue makes a job queue, by name or ARN, reject new jobs. Its current jobs continue.
func (c *Client) DisableQueue(ctx context.Context, queue string) error {
	err := c.patiently(ctx, func() error {
		_, err := c.API.UpdateJobQueue(ctx, &awsbatch.UpdateJobQueueInput{JobQueue: &queue, State: types.JQStateDisabled})
		return err
	})
	if err != nil {
		return Failed("disable job queue "+queue, err)
	}
	return nil
}
