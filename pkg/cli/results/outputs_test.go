package results

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
)

func variables(pairs ...string) (all []types.KeyValuePair) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, types.KeyValuePair{Name: aws.String(pairs[i]), Value: aws.String(pairs[i+1])})
	}
	return all
}

func staged(to, local string) string {
	text, _ := json.Marshal(map[string]any{"version": 1, "outputs": []any{map[string]string{"from": "out/model.pt", "to": to, "local": local}}})
	return string(text)
}

// TestOutputPlaces compares the URLs of outputs with those that the containers expand from the
// variables in the answer of DescribeJobs.
func TestOutputPlaces(t *testing.T) {
	s := &sweep.Sweep{Kind: sweep.Matrix, Names: []string{"lr"}, Axes: []sweep.Axis{{Values: []string{"0.1", "0.2", "0.3"}}}, Templates: []string{stage.Variable}}
	document := s.Document()
	for name, test := range map[string]struct {
		job  types.JobDetail
		want string
	}{
		"a job": {types.JobDetail{Attempts: make([]types.AttemptDetail, 2), Container: &types.ContainerDetail{Environment: variables(
			"WHO", "me", stage.Variable, staged("s3://b/${WHO}/${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ATTEMPT}/${AWS_BATCH_JQ_NAME}", ""))}}, "s3://b/me/id/2/queue"},
		"tasks": {types.JobDetail{EcsProperties: &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{{Containers: []types.TaskContainerDetails{
			{Environment: variables("A", "1")}, {Environment: variables("A", "2", stage.Variable, staged("s3://b/${A}", ""))}}}}}}, "s3://b/2"},
		"nodes": {types.JobDetail{NodeProperties: &types.NodeProperties{NodeRangeProperties: []types.NodeRangeProperty{
			{Container: &types.ContainerProperties{Environment: variables("A", "3", stage.Variable, staged("s3://b/${A}", ""))}}}}}, "s3://b/3"},
		"an array": {types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(2)}, Container: &types.ContainerDetail{Environment: variables(
			stage.Variable, staged("s3://b/${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ARRAY_INDEX}", ""))}}, "s3://b/id:0/0 s3://b/id:1/1"},
		"a child": {types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Index: aws.Int32(7)}, Container: &types.ContainerDetail{Environment: variables(
			stage.Variable, staged("s3://b/${AWS_BATCH_JOB_ARRAY_INDEX}", ""))}}, "s3://b/7"},
		"cells again": {types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(2)}, Container: &types.ContainerDetail{Environment: variables(
			sweep.DocumentVariable, document, sweep.CellsVariable, "1-2", stage.Variable, staged("s3://b/${{ matrix.lr }}/${MATRIX_LR}/${BATCHCTL_CELL}/${AWS_BATCH_JOB_ARRAY_INDEX}", ""))}},
			"s3://b/0.2/0.2/1/1 s3://b/0.3/0.3/2/2"},
		"none":           {types.JobDetail{Container: &types.ContainerDetail{Environment: variables(stage.Variable, `{"version":1}`)}}, ""},
		"unset variable": {types.JobDetail{Container: &types.ContainerDetail{Environment: variables(stage.Variable, staged("s3://b/${SECRET}", ""))}}, "error: ${SECRET}: the variable is not set in the container's environment in the answer of DescribeJobs"},
		"newer":          {types.JobDetail{Container: &types.ContainerDetail{Environment: variables(stage.Variable, `{"version":7}`)}}, "error: version 7"},
	} {
		test.job.JobId, test.job.JobName, test.job.JobQueue = aws.String("id"), aws.String("train"), aws.String("arn:aws:batch:us-east-1:123456789012:job-queue/queue")
		call := &jobs.Call{Target: &target.Target{Name: target.AWS}, Known: []once.Recalled{{JobDetail: test.job}}}
		outputs, err := outputsOf(context.Background(), call)
		if want, isError := strings.CutPrefix(test.want, "error: "); isError {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var urls []string
		for _, o := range outputs {
			urls = append(urls, o.url)
		}
		if got := strings.Join(urls, " "); err != nil || got != test.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, test.want)
		}
	}
}

// TestPlaceOutputs checks the local paths of outputs, which must stay in the directory.
func TestPlaceOutputs(t *testing.T) {
	output := func(index int, from, local string) *jobOutput {
		o, err := instance{"train", index, "", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": strconv.Itoa(index)}}.output(stage.Output{From: from, To: "s3://b/x", Local: local})
		if err != nil {
			t.Fatal(err)
		}
		o.at, o.found = "s3://b/x", []objects.Found{{URL: "s3://b/x", Name: "x"}}
		return o
	}
	for _, test := range []struct {
		dir     string
		outputs []*jobOutput
		want    string
	}{
		{"", []*jobOutput{output(-1, "/out/model.pt", "")}, "train/model.pt"},
		{"", []*jobOutput{output(3, "/out/model.pt", "")}, "train/3/model.pt"},
		{"", []*jobOutput{output(-1, "/out/model.pt", "best.pt")}, "best.pt"},
		{"", []*jobOutput{output(3, "/out/model.pt", "models/best.pt")}, "models/3/best.pt"},
		{"", []*jobOutput{output(3, "/out/", "models/")}, "models/3/x"},
		{"", []*jobOutput{output(3, "/out/", "models/${AWS_BATCH_JOB_ARRAY_INDEX}/x.pt")}, "models/3/x.pt"},
		{"", []*jobOutput{output(0, "/out/", "run-2026/"), output(1, "/out/", "run-2026/"), output(2, "/out/", "run-2026/")}, "run-2026/0/x run-2026/1/x run-2026/2/x"},
		{"there", []*jobOutput{output(3, "/out/model.pt", "models/best.pt")}, "there/train/3/model.pt"},
		{"/tmp", []*jobOutput{output(-1, "/a/out", ""), output(-1, "/b/out", "")}, "/tmp/train/out /tmp/train/b-out"},
		{"", []*jobOutput{output(-1, "a", "x"), output(-1, "b", "x")}, "error: two outputs go to x"},
		{"", []*jobOutput{output(-1, "a", "../x")}, "error: is outside this directory"},
		{"", []*jobOutput{output(-1, "a", "/etc/passwd")}, "error: is outside this directory"},
		{"", []*jobOutput{output(-1, "a", ".git/hooks/post-checkout")}, "error: output path .git/hooks/post-checkout is hidden"},
		{"", []*jobOutput{output(-1, "a", "./x/.y")}, "error: output path ./x/.y is hidden"},
		{"", []*jobOutput{output(-1, "a", "./x")}, "./x"},
		{"there", []*jobOutput{output(-1, "a", ".ssh/x")}, "there/train/a"},
		{"", []*jobOutput{output(-1, "a/..", "")}, "error: is outside this directory"},
		{"", []*jobOutput{output(-1, "a", `..\x`)}, "error: is outside this directory"},
	} {
		err := placeOutputs(test.outputs, test.dir)
		var got []string
		for _, o := range test.outputs {
			got = append(got, o.file(o.found[0]))
		}
		if want, isError := strings.CutPrefix(test.want, "error: "); isError {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v %q", test.outputs[0], err, got)
			}
		} else if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("%q %v, want %s", got, err, test.want)
		}
	}
}
