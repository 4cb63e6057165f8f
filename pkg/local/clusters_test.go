package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// askECS sends the engine a request of ECS and decodes the answer into out.
func (w *testEngine) askECS(operation string, in map[string]any, out any) {
	w.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://localhost/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113."+operation)
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(w.t.Context(), w.engine.key, r, hex.EncodeToString(hash[:]), "ecs", "local", time.Now()); err != nil {
		w.t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	w.engine.Handler().ServeHTTP(answer, r)
	if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil || answer.Code != http.StatusOK {
		w.t.Fatalf("%s: %d %s %v", operation, answer.Code, answer.Body, err)
	}
}

func TestClusters(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.environment("a", types.CRTypeEc2, 1)
	w.environment("b", types.CRTypeFargate, 1)
	out := modeltest.Must(t, w.DescribeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{"a"}})
	a := *out.ComputeEnvironments[0].EcsClusterArn
	var listed []string
	for in := map[string]any{"maxResults": 2}; ; {
		var page struct {
			ClusterArns []string
			NextToken   *string
		}
		w.askECS("ListClusters", in, &page)
		listed = append(listed, page.ClusterArns...)
		if page.NextToken == nil {
			break
		}
		in["nextToken"] = *page.NextToken
	}
	if len(listed) != 3 || !slices.Contains(listed, a) {
		t.Errorf("listed %v, want 3 with %s", listed, a)
	}
	status := func(w *testEngine, of string) string {
		var out struct {
			Clusters []struct{ Status string }
			Failures []struct{ Reason string }
		}
		w.askECS("DescribeClusters", map[string]any{"clusters": []string{of}}, &out)
		if len(out.Failures) == 1 {
			return out.Failures[0].Reason
		}
		return out.Clusters[0].Status
	}
	w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("a"), State: types.CEStateDisabled})
	if got := status(w, a) + " " + status(w, "none"); got != "ACTIVE MISSING" {
		t.Error(got)
	}
	modeltest.Must(t, w.DeleteComputeEnvironment, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("a")})
	if err := w.engine.Close(ctx); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Dir: w.engine.options.Dir})
	if got := status(again, model.ResourceName(a, "cluster")); got != "INACTIVE" {
		t.Errorf("cluster of a deleted environment: %s", got)
	}
}
