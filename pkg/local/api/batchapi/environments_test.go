package batchapi

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestEnvironmentNeedsMaxvCpus sends a request without maxvCpus, which the SDK rejects but other
// clients can send.
func TestEnvironmentNeedsMaxvCpus(t *testing.T) {
	err := checkEnvironmentRequest(&awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: aws.String("new"), Type: types.CETypeManaged,
		ComputeResources: &types.ComputeResource{Type: types.CRTypeEc2, InstanceRole: aws.String("role"), MinvCpus: aws.Int32(0)}})
	if want := "Resource maxvCpus is required."; err == nil || err.Error() != "ClientException: "+want {
		t.Errorf("%v, want %s", err, want)
	}
}
