package process

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestProcessNamesWhatHasNoEffect(t *testing.T) {
	got := Executor{}.Unhonoured(&types.ContainerProperties{Image: aws.String("example.com/team/batchctl-workloads:1.2"), User: aws.String("nobody"),
		Privileged: aws.Bool(false), Volumes: []types.Volume{{Name: aws.String("v")}}})
	if strings.Join(got, " ") != "user volumes" {
		t.Errorf("got %v, want user and volumes", got)
	}
}
