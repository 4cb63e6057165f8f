package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestFilter checks the one filter that the service gets, and that the client applies the others
// to its answers.
func TestFilter(t *testing.T) {
	const definitions = "arn:aws:batch:us-east-1:123456789012:job-definition/"
	job := func(name, definition, share string, status types.JobStatus, created int64) types.JobSummary {
		return types.JobSummary{JobName: &name, JobDefinition: aws.String(definitions + definition), ShareIdentifier: &share, Status: status, CreatedAt: &created}
	}
	jobs := []types.JobSummary{
		job("train", "train:1", "vision", "FAILED", 1000),
		job("Train", "train:2", "speech", "RUNNING", 2000),
		job("eval", "trainer:1", "vision", "RUNNING", 3000),
	}
	at := time.UnixMilli
	for _, c := range []struct {
		filter Filter
		query  string // of a call for one queue
		want   string // which of the jobs match
	}{
		{Filter{}, "SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED", "012"},
		{Filter{Statuses: []types.JobStatus{"RUNNING"}}, "RUNNING", "12"},
		{Filter{Name: "TRAIN"}, "JOB_NAME=TRAIN*", "01"},
		{Filter{Name: "t*", Statuses: []types.JobStatus{"RUNNING"}}, "JOB_NAME=t*", "1"},
		{Filter{Definition: "train"}, "JOB_DEFINITION=train", "01"},
		{Filter{Definition: "train*"}, "JOB_DEFINITION=train*", "012"},
		{Filter{Definition: "train:2"}, "JOB_DEFINITION=train", "1"},
		{Filter{Definition: definitions + "train:1"}, "JOB_DEFINITION=" + definitions + "train:1", "0"},
		{Filter{Definition: "Train"}, "JOB_DEFINITION=Train", ""},
		{Filter{Definition: "train", Name: "train"}, "JOB_NAME=train*", "01"},
		{Filter{Share: "vision", Statuses: []types.JobStatus{"RUNNING", "FAILED"}}, "RUNNING SHARE_IDENTIFIER=vision FAILED SHARE_IDENTIFIER=vision", "02"},
		{Filter{CreatedAfter: at(2000)}, "AFTER_CREATED_AT=1999", "12"},
		{Filter{CreatedBefore: at(2000)}, "BEFORE_CREATED_AT=2000", "0"},
		{Filter{CreatedAfter: at(1001), CreatedBefore: at(3000)}, "AFTER_CREATED_AT=1000", "1"},
	} {
		var asked []string
		for _, in := range c.filter.inputs("cpu") {
			if in.JobStatus != "" {
				asked = append(asked, string(in.JobStatus))
			}
			for _, f := range in.Filters {
				asked = append(asked, *f.Name+"="+f.Values[0])
			}
		}
		got := ""
		for i, j := range jobs {
			if c.filter.matches(j) {
				got += fmt.Sprint(i)
			}
		}
		if query := strings.Join(asked, " "); query != c.query || got != c.want {
			t.Errorf("%+v: asks %q and keeps %q, want %q and %q", c.filter, query, got, c.query, c.want)
		}
	}
	if newer := job("a", "b:1", "", "PAUSED", 1); !(Filter{}).matches(newer) {
		t.Error("a status newer than the SDK is left out")
	}
	if !slices.Equal((Filter{}).statuses(), types.JobStatus("").Values()) {
		t.Error("no status is not every status")
	}
}
