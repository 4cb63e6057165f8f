package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/batchctl/batchctl/pkg/cli/injob"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// imitation is a server in AWS's place that writes numbers as Python's servers do.
func imitation(t *testing.T, asked *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := strings.TrimPrefix(r.URL.Path+r.Header.Get("X-Amz-Target"), "/")
		*asked = append(*asked, operation)
		switch operation {
		case "v1/describejobs":
			fmt.Fprint(w, ` {"jobs":[{"jobId":"11111111-2222-3333-4444-555555555555","jobName":"1.0","jobQueue":"arn:aws:batch:us-east-1:111122223333:job-queue/q","status":"SUCCEEDED",
				"jobDefinition":"d:1","createdAt":1795563160947.741,"startedAt":1.795563161e12,"stoppedAt":1795563162000.0,"statusReason":"took 1.0 s",
				"parameters":{"alpha":"1.0","createdAt":"1795563160947.741"},
				"attempts":[{"startedAt":1795563161000.5,"stoppedAt":1795563162000.5,"container":{"exitCode":0.0,"logStreamName":"d/default/1","reason":null}}],
				"container":{"image":"busybox:1.0","vcpus":0.25,"memory":1.0e3,"exitCode":0.0,"command":["echo","1.0"],"logStreamName":"d/default/1"}}]}`)
		case "Logs_20140328.GetLogEvents":
			if body, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(body), "nextToken") {
				fmt.Fprint(w, `{"events":[],"nextForwardToken":"f/1.0","nextBackwardToken":"b/1.0"}`)
				return
			}
			fmt.Fprint(w, `{"events":[{"timestamp":1795563160947.741,"message":"loss 1.0 at 1795563160947.741","ingestionTime":1.795563160948e12}],"nextForwardToken":"f/1.0","nextBackwardToken":"b/1.0"}`)
		case "Logs_20140328.DescribeLogGroups":
			fmt.Fprint(w, `{"logGroups":[{"logGroupName":"1.5","creationTime":1795563160947.741,"storedBytes":1.0}]}`)
		case "v1/tags/arn": // a GET
			fmt.Fprint(w, `{"tags":{"a":"1.0"}}`)
		case "bucket/loss.json":
			fmt.Fprint(w, `{"loss":1.0}`)
		case "v1/listjobs":
			fmt.Fprint(w, `{"nextToken":"`)
			for i := 0; i < 40 && r.Context().Err() == nil; i++ {
				fmt.Fprint(w, strings.Repeat("a", 1<<20))
			}
		default:
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprint(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Account>111122223333</Account>`+
				`<Arn>arn:aws:iam::111122223333:user/1.0</Arn><UserId>A</UserId></GetCallerIdentityResult></GetCallerIdentityResponse>`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// credentialsOnly sets only credentials and a Region.
func credentialsOnly(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "BATCHCTL_") {
			t.Setenv(name, "") // which sets it back at the end
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, value := range map[string]string{"AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
		"AWS_ACCESS_KEY_ID": "MYKEY", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
		"BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "BATCHCTL_TARGET": "aws"} {
		t.Setenv(name, value)
	}
	return dir
}

// TestTolerant checks that numbers are read correctly and strings stay unchanged, for each way
// to name the server, and with the SDK's HTTP client and the one for AWS_CA_BUNDLE.
func TestTolerant(t *testing.T) {
	const dead = "http://127.0.0.1:1"
	bundle := injob.Certificates()
	for _, ca := range []bool{false, true} {
		if ca && bundle == "" {
			continue
		}
		for _, way := range []struct {
			name, config string
			environment  map[string]string
			flags        []string
		}{
			{name: "the flag", flags: []string{"--endpoint-url", "URL"}},
			{name: "the flag beside another endpoint", flags: []string{"--endpoint-url", "URL"}, environment: map[string]string{"AWS_ENDPOINT_URL": dead}},
			{name: "the flag beside another endpoint of Batch", flags: []string{"--endpoint-url", "URL"}, environment: map[string]string{"AWS_ENDPOINT_URL_BATCH": dead}},
			{name: "one variable", environment: map[string]string{"AWS_ENDPOINT_URL": "URL"}},
			{name: "one variable beside services of the profile", environment: map[string]string{"AWS_ENDPOINT_URL": "URL"},
				config: "[default]\nservices = here\n[services here]\nbatch =\n  endpoint_url = " + dead + "\ncloudwatch_logs =\n  endpoint_url = " + dead + "\n"},
			{name: "a variable of each service", environment: map[string]string{"AWS_ENDPOINT_URL_BATCH": "URL", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": "URL"}},
			{name: "the profile", config: "[default]\nendpoint_url = URL\n"},
			{name: "services of the profile", config: "[default]\nservices = here\n[services here]\nbatch =\n  endpoint_url = URL\ncloudwatch_logs =\n  endpoint_url = URL\n"},
		} {
			t.Run(fmt.Sprintf("%s, bundle %v", way.name, ca), func(t *testing.T) {
				dir := credentialsOnly(t)
				var asked []string
				url := imitation(t, &asked)
				if ca {
					t.Setenv("AWS_CA_BUNDLE", bundle)
				}
				for name, value := range way.environment {
					t.Setenv(name, strings.ReplaceAll(value, "URL", url))
				}
				if err := os.WriteFile(filepath.Join(dir, "config"), []byte(strings.ReplaceAll(way.config, "URL", url)), 0o600); err != nil {
					t.Fatal(err)
				}
				run := func(words ...string) string {
					t.Helper()
					for _, flag := range way.flags {
						words = append(words, strings.ReplaceAll(flag, "URL", url))
					}
					var out, story strings.Builder
					if code := Main(t.Context(), append([]string{"batchctl"}, words...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story}); code != exit.OK {
						t.Fatalf("%q: exit code %d\n%s%s", words, code, &out, &story)
					}
					return out.String()
				}
				const id = "11111111-2222-3333-4444-555555555555"
				status := run("status", id, "--output", "json")
				if !json.Valid([]byte(status)) || !strings.Contains(status, "1795563160947") || strings.Contains(status, "947.741,") || !strings.Contains(status, `"1.0"`) {
					t.Errorf("status: %s", status)
				}
				if log := run("logs", id); log != "loss 1.0 at 1795563160947.741\n" {
					t.Errorf("logs: %s", log)
				}
				for _, operation := range []string{"v1/describejobs", "Logs_20140328.GetLogEvents"} {
					if !slices.Contains(asked, operation) {
						t.Errorf("the server was asked %q, and not %s", asked, operation)
					}
				}
				// A label that names the endpoint says where a change would go.
				cfg, err := target.AWSConfig(t.Context(), new(term.Console), document.Target{Endpoint: map[bool]string{true: url}[way.flags != nil]})
				if err != nil || target.EndpointOf(cfg) != url {
					t.Errorf("the endpoint is %s, want %s; %v", target.EndpointOf(cfg), url, err)
				}
			})
		}
	}
}

// TestTolerantAnswers checks that contents of objects of any length stay unchanged, that a GET
// of another service counts as an operation, that CloudWatch Logs may write fractions, and that
// an endless answer is given up.
func TestTolerantAnswers(t *testing.T) {
	credentialsOnly(t)
	var asked []string
	cfg, err := target.AWSConfig(t.Context(), new(term.Console), document.Target{Endpoint: imitation(t, &asked)})
	if err != nil {
		t.Fatal(err)
	}
	// In containers, certificates are added to the client; for transfers, connections are.
	if _, ok := cfg.HTTPClient.(*awshttp.BuildableClient); !ok {
		t.Errorf("the HTTP client is a %T", cfg.HTTPClient)
	}
	if _, err := awsbatch.NewFromConfig(cfg).ListTagsForResource(t.Context(), &awsbatch.ListTagsForResourceInput{ResourceArn: aws.String("arn")}); err != nil {
		t.Error(err)
	}
	groups, err := cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	if g := groups.LogGroups[0]; *g.LogGroupName != "1.5" || *g.CreationTime != 1795563160947 || *g.StoredBytes != 1 {
		t.Errorf("log group %s, created at %d, %d bytes", *g.LogGroupName, *g.CreationTime, *g.StoredBytes)
	}
	object, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).
		GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("bucket"), Key: aws.String("loss.json")})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(object.Body); err != nil || string(text) != `{"loss":1.0}` {
		t.Errorf("%s, %v", text, err)
	}
	// The SDK may report the limit, or the connection that it then closes.
	if _, err := awsbatch.NewFromConfig(cfg).ListJobs(t.Context(), &awsbatch.ListJobsInput{}); err == nil {
		t.Error("an endless answer was read")
	}
}

// TestPlainIntegersOfAnswers checks that the reader of a truncated answer gets the error.
func TestPlainIntegersOfAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"\n {\"a\":1.0}": "\n {\"a\":1}",
		`[1.0]`:          `[1]`,
		`<a>1.0</a>`:     `<a>1.0</a>`,
		"loss 1.0":       "loss 1.0",
		"":               "",
	} {
		if got, err := io.ReadAll(target.PlainIntegers(io.NopCloser(strings.NewReader(text)), false)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	torn := io.MultiReader(strings.NewReader(`{"a":1`), target.Broken{Err: io.ErrUnexpectedEOF})
	if got, err := io.ReadAll(target.PlainIntegers(io.NopCloser(torn), false)); err != io.ErrUnexpectedEOF || string(got) != `{"a":1` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := io.ReadAll(target.PlainIntegers(io.NopCloser(endless{}), false)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless answer: %v", err)
	}
}

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
