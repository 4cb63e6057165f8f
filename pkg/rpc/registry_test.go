package rpc

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestMotoRegistry logs in, lists a repository and deletes it, and deletes log streams.
func TestMotoRegistry(t *testing.T) {
	c := moto(t)
	if l := the[RegistryLogin](t)(c.LogInToRegistry(t.Context())); l.User != "AWS" || l.Password == "" {
		t.Errorf("%+v", l)
	}
	if tags, there, err := c.RepositoryTags(t.Context(), "team/train"); err != nil || there || tags != nil {
		t.Errorf("%v %v %v", tags, there, err)
	}
	c.repository(t, "team/train")
	if tags, there, err := c.RepositoryTags(t.Context(), "team/train"); err != nil || !there || tags != nil {
		t.Errorf("%v %v %v", tags, there, err)
	}
	c.image(t, "team/train", "cpu-1")
	if tags, _, err := c.RepositoryTags(t.Context(), "team/train"); err != nil || !slices.Equal(tags, []string{"cpu-1"}) {
		t.Errorf("%v %v", tags, err)
	}
	for range 2 { // the second time it no longer exists
		if err := c.DeleteRepository(t.Context(), "team/train"); err != nil {
			t.Fatal(err)
		}
	}
	if _, there, err := c.RepositoryTags(t.Context(), "team/train"); err != nil || there {
		t.Errorf("%v %v", there, err)
	}
	group, stream := "/aws/batch/job", "train/default/1"
	the[*cloudwatchlogs.CreateLogGroupOutput](t)(cloudwatchlogs.NewFromConfig(c.cfg).CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &group}))
	the[*cloudwatchlogs.CreateLogStreamOutput](t)(cloudwatchlogs.NewFromConfig(c.cfg).CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &stream}))
	if out := the[*cloudwatchlogs.DescribeLogGroupsOutput](t)(c.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &group})); len(out.LogGroups) != 1 {
		t.Errorf("%+v", out.LogGroups)
	}
	if out := the[*cloudwatchlogs.GetLogEventsOutput](t)(c.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogGroupName: &group, LogStreamName: &stream})); len(out.Events) != 0 {
		t.Errorf("%+v", out.Events)
	}
	for range 2 {
		if err := c.DeleteLogStream(t.Context(), group, stream); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRegistryToken checks that a token without user and password is an error that does not
// contain the token.
func TestRegistryToken(t *testing.T) {
	for _, answer := range []string{`{}`, `{"authorizationData":[]}`, `{"authorizationData":[{"authorizationToken":"c2VjcmV0"}]}`, `{"authorizationData":[{"authorizationToken":"QVdTOg=="}]}`, `{"authorizationData":[{"authorizationToken":"%secret%"}]}`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		defer s.Close()
		c := New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")})
		if _, err := c.LogInToRegistry(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
