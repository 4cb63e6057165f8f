package local

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestClusters(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.environment("a", types.CRTypeEc2, 1)
	w.environment("b", types.CRTypeFargate, 1)
	out, err := w.DescribeComputeEnvironments(ctx, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	a := *out.ComputeEnvironments[0].EcsClusterArn
	var listed []string
	for in := (listClustersInput{MaxResults: aws.Int32(2)}); ; {
		page, err := w.engine.listClusters(&call{}, &in)
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, page.ClusterArns...)
		if in.NextToken = page.NextToken; in.NextToken == nil {
			break
		}
	}
	if len(listed) != 3 || !slices.Contains(listed, a) {
		t.Errorf("listed %v, want 3 with %s", listed, a)
	}
	status := func(w *world, of string) string {
		out, err := w.engine.describeClusters(&call{}, &describeClustersInput{Clusters: []string{of}})
		switch {
		case err != nil:
			t.Fatal(err)
		case len(out.Failures) == 1:
			return *out.Failures[0].Reason
		}
		return *out.Clusters[0].Status
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("a"), State: types.CEStateDisabled})
	if got := status(w, a) + " " + status(w, "none"); got != "ACTIVE MISSING" {
		t.Error(got)
	}
	if _, err := w.DeleteComputeEnvironment(ctx, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Close(ctx); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Dir: w.engine.options.Dir})
	if got := status(again, resourceName(a, "cluster")); got != "INACTIVE" {
		t.Errorf("of an environment that was deleted: %s", got)
	}
}
