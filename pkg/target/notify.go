package target

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/notify"
)

// notifier returns what sends messages about jobs of a target. For the local engine, a topic of SNS
// is reached with the credentials of the environment.
func notifier(con *term.Console, t *Target) func(context.Context, string, notify.Event) error {
	s := &notify.Sender{Version: buildinfo.Own().String(), Config: func(ctx context.Context) (aws.Config, error) {
		if t.IsLocal() {
			return AWSConfig(ctx, con, document.Target{})
		}
		return t.Config, nil
	}}
	return s.Send
}
