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

// TestLogConfigurationHasAnEffect checks that only the parts of a log configuration are named that have none.
func TestLogConfigurationHasAnEffect(t *testing.T) {
	applied := map[string]string{"awslogs-group": "g", "awslogs-stream-prefix": "p", "awslogs-create-group": "true"}
	more := map[string]string{"awslogs-region": "us-east-1", "awslogs-group": "g", "mode": "non-blocking"}
	secret := []types.Secret{{Name: aws.String("s"), ValueFrom: aws.String("v")}}
	for _, c := range []struct {
		driver  types.LogDriver
		options map[string]string
		secrets []types.Secret
		want    string
	}{
		{types.LogDriverAwslogs, applied, nil, ""},
		{types.LogDriverAwslogs, more, secret, "logConfiguration.options.awslogs-region logConfiguration.options.mode logConfiguration.secretOptions"},
		{types.LogDriverJsonFile, nil, nil, "logConfiguration"},
	} {
		got := Executor{}.Unhonoured(&types.ContainerProperties{Image: aws.String("example.com/team/batchctl-workloads:1.2"),
			LogConfiguration: &types.LogConfiguration{LogDriver: c.driver, Options: c.options, SecretOptions: c.secrets}})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %v: %v, want %q", c.driver, c.options, got, c.want)
		}
	}
}
