package local

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestLegacyResources(t *testing.T) {
	legacy := &types.ContainerProperties{Vcpus: aws.Int32(2), Memory: aws.Int32(64)}
	modern := &types.ContainerProperties{ResourceRequirements: []types.ResourceRequirement{
		{Type: "VCPU", Value: aws.String("2")}, {Type: "MEMORY", Value: aws.String("64")}}}
	for _, c := range []struct {
		name    string
		c       *types.ContainerProperties
		o       *types.ContainerOverrides
		want    amount
		ignored int
	}{
		{"definition alone", legacy, nil, amount{2000, 64, 0}, 0},
		{"legacy over legacy", legacy, &types.ContainerOverrides{Vcpus: aws.Int32(4), Memory: aws.Int32(128)}, amount{4000, 128, 0}, 0},
		{"requirement over legacy", legacy, &types.ContainerOverrides{ResourceRequirements: []types.ResourceRequirement{
			{Type: "VCPU", Value: aws.String("8")}}}, amount{8000, 64, 0}, 0},
		{"legacy over requirement", modern, &types.ContainerOverrides{Vcpus: aws.Int32(4), Memory: aws.Int32(128)}, amount{2000, 64, 0}, 2},
	} {
		got, err := asked(override(c.c, c.o))
		if err != nil || got != c.want || len(ignored(c.c, c.o)) != c.ignored {
			t.Errorf("%s: %v, %v, ignored %v; want %v", c.name, got, err, ignored(c.c, c.o), c.want)
		}
	}
}
