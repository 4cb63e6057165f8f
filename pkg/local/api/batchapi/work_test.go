//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package batchapi

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

func TestLegacyResources(t *testing.T) {
	legacy := &types.ContainerProperties{Vcpus: aws.Int32(2), Memory: aws.Int32(64)}
	modern := &types.ContainerProperties{ResourceRequirements: []types.ResourceRequirement{
		{Type: "VCPU", Value: aws.String("2")}, {Type: "MEMORY", Value: aws.String("64")}}}
	for _, c := range []struct {
		name    string
		c       *types.ContainerProperties
		o       *types.ContainerOverrides
		want    model.Amount
		ignored int
	}{
		{"definition alone", legacy, nil, model.Amount{MilliCPU: 2000, MemoryMiB: 64}, 0},
		{"legacy over legacy", legacy, &types.ContainerOverrides{Vcpus: aws.Int32(4), Memory: aws.Int32(128)}, model.Amount{MilliCPU: 4000, MemoryMiB: 128}, 0},
		{"requirement over legacy", legacy, &types.ContainerOverrides{ResourceRequirements: []types.ResourceRequirement{
			{Type: "VCPU", Value: aws.String("8")}}}, model.Amount{MilliCPU: 8000, MemoryMiB: 64}, 0},
		{"legacy over requirement", modern, &types.ContainerOverrides{Vcpus: aws.Int32(4), Memory: aws.Int32(128)}, model.Amount{MilliCPU: 2000, MemoryMiB: 64}, 2},
	} {
		got, err := model.Requested(model.Override(c.c, c.o))
		if err != nil || got != c.want || len(ignored(c.c, c.o)) != c.ignored {
			t.Errorf("%s: %v, %v, ignored %v; want %v", c.name, got, err, ignored(c.c, c.o), c.want)
		}
	}
}
