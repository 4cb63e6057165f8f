package client

import (
	"context"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// DisableQueue has a job queue, by name or ARN, take no more jobs; those in it go on.
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
