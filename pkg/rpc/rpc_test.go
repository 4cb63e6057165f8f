package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// script answers requests one after the other.
type script struct {
	answers []answer
	asked   []*http.Request
}

type answer struct {
	status int
	body   string
	err    error
}

func (s *script) Do(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r)
	a := s.answers[min(len(s.asked), len(s.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Header: http.Header{}, Request: r}, nil
}

func scripted(answers ...answer) (*script, *Client) {
	s := &script{answers: answers}
	return s, New(aws.Config{Region: "eu-central-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")})
}

func TestEndpoints(t *testing.T) {
	for _, test := range []struct {
		region  string
		service Service
		url     string
		signed  string
	}{
		{"eu-central-1", SSM, "https://ssm.eu-central-1.amazonaws.com/", "eu-central-1/ssm"},
		{"cn-north-1", ServiceQuotas, "https://servicequotas.cn-north-1.amazonaws.com.cn/", "cn-north-1/servicequotas"},
		{"us-gov-east-1", EC2, "https://ec2.us-gov-east-1.amazonaws.com/", "us-gov-east-1/ec2"},
		{"eu-central-1", IAM, "https://iam.amazonaws.com/", "us-east-1/iam"},
		{"cn-northwest-1", IAM, "https://iam.cn-north-1.amazonaws.com.cn/", "cn-north-1/iam"},
		{"us-gov-east-1", IAM, "https://iam.us-gov.amazonaws.com/", "us-gov-west-1/iam"},
		{"us-iso-east-1", SSM, "https://ssm.us-iso-east-1.c2s.ic.gov/", "us-iso-east-1/ssm"},
	} {
		s, c := scripted(answer{status: 200, body: "{}"})
		_ = c.In(test.region).JSON(t.Context(), test.service, "X", struct{}{}, &struct{}{})
		r := s.asked[0]
		if r.URL.String() != test.url || !strings.Contains(r.Header.Get("Authorization"), "/"+test.signed+"/aws4_request") || r.Header.Get("X-Amz-Security-Token") != "token" {
			t.Errorf("%s: %s, %s", test.region, r.URL, r.Header.Get("Authorization"))
		}
	}
}

// configured has the places from which the AWS tools read endpoints.
type configured struct {
	ignore bool
	of     map[string]string
}

func (c configured) GetServiceBaseEndpoint(_ context.Context, id string) (string, bool, error) {
	address, found := c.of[id]
	return address, found, nil
}
func (c configured) GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error) {
	return c.ignore, true, nil
}

func TestConfiguredEndpoints(t *testing.T) {
	s, c := scripted(answer{status: 200, body: "{}"})
	c.cfg.BaseEndpoint = aws.String("http://127.0.0.1:4566")
	source := configured{of: map[string]string{"Service Quotas": "http://127.0.0.1:1/x"}}
	c.cfg.ConfigSources = []any{source}
	for service, want := range map[string]string{"quotas": "http://127.0.0.1:1/x", "ssm": "http://127.0.0.1:4566/"} {
		_ = c.JSON(t.Context(), map[string]Service{"quotas": ServiceQuotas, "ssm": SSM}[service], "X", struct{}{}, &struct{}{})
		if got := s.asked[len(s.asked)-1].URL.String(); got != want {
			t.Errorf("%s: %s, want %s", service, got, want)
		}
	}
	source.ignore = true
	c.cfg.ConfigSources, c.cfg.BaseEndpoint = []any{source}, nil
	_ = c.JSON(t.Context(), ServiceQuotas, "X", struct{}{}, &struct{}{})
	if got := s.asked[len(s.asked)-1].URL.Host; got != "servicequotas.eu-central-1.amazonaws.com" {
		t.Errorf("ignored: %s", got)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		query           bool
		status          int
		body, text      string
		denied, missing bool
	}{
		{false, 400, `{"__type":"com.amazonaws.ecr#RepositoryNotFoundException","message":"no repository"}`, "ssm X: RepositoryNotFoundException: no repository", false, true},
		{false, 400, `{"__type":"AccessDeniedException","Message":"User is not authorized"}`, "not allowed: ssm:X", true, false},
		{true, 403, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`, "not allowed: ec2:X", true, false},
		{true, 403, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>`, "not allowed: ec2:X", true, false},
		{true, 400, `<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>i-1</Message></Error></Errors></Response>`, "ec2 X: InvalidInstanceID.NotFound: i-1", false, true},
		{true, 404, `<ErrorResponse><Error><Code>NoSuchEntity</Code><Message>gone</Message></Error></ErrorResponse>`, "ec2 X: NoSuchEntity: gone", false, true},
		{false, 502, `<html>`, "ssm X: HTTP 502 Bad Gateway", false, false},
		{true, 500, ``, "ec2 X: HTTP 500 Internal Server Error", false, false},
	} {
		_, c := scripted(answer{status: test.status, body: test.body})
		var err error
		if test.query {
			err = c.Query(t.Context(), EC2, "X", url.Values{}, &struct{}{})
		} else {
			err = c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{})
		}
		if err == nil || err.Error() != test.text || Denied(err) != test.denied || Missing(err) != test.missing {
			t.Errorf("%s: %v, denied %v, missing %v", test.body, err, Denied(err), Missing(err))
		}
	}
}

// TestThrottled checks that a throttled call is repeated once, after a pause.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer{status: 400, body: `{"__type":"ThrottlingException","message":"Rate exceeded"}`}
		s, c := scripted(busy, answer{status: 200, body: `{"images":[]}`})
		if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err != nil || len(s.asked) != 2 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
		s, c = scripted(busy)
		if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err == nil || len(s.asked) != 2 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
		s, c = scripted(answer{err: &url.Error{Op: "Post", URL: "https://user:pass@x", Err: errors.New("connection refused")}})
		if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err == nil || strings.Contains(err.Error(), "pass") || len(s.asked) != 1 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
	})
}

func TestNoCredentials(t *testing.T) {
	s, c := scripted(answer{status: 200, body: "{}"})
	c.cfg.Credentials = nil
	if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err == nil || len(s.asked) != 0 {
		t.Errorf("%v, asked %d times", err, len(s.asked))
	}
	c.cfg.Credentials, c.region = credentials.NewStaticCredentialsProvider("a", "b", ""), ""
	if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err == nil || len(s.asked) != 0 {
		t.Errorf("no Region: %v", err)
	}
}

func TestLongAnswer(t *testing.T) {
	_, c := scripted(answer{status: 200, body: `"` + string(bytes.Repeat([]byte("x"), maxAnswer)) + `"`})
	if err := c.JSON(t.Context(), SSM, "X", struct{}{}, &struct{}{}); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
}

// TestListsThatDoNotEnd reads a list whose page names itself as the next one.
func TestListsThatDoNotEnd(t *testing.T) {
	s, c := scripted(answer{status: 200, body: `{"nextToken":"again"}`})
	if _, _, err := c.RepositoryTags(t.Context(), "r"); !errors.Is(err, ErrEndless) || len(s.asked) != 2 {
		t.Errorf("ListImages: %v after %d calls", err, len(s.asked))
	}
}

func TestParseImage(t *testing.T) {
	for name, want := range map[string]Image{
		"111122223333.dkr.ecr.eu-central-1.amazonaws.com/team/train:1.4":      {Registry: "111122223333", Region: "eu-central-1", Repository: "team/train", Tag: "1.4"},
		"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/train@sha256:0a":    {Registry: "111122223333", Region: "cn-north-1", Repository: "train", Digest: "sha256:0a"},
		"111122223333.dkr.ecr-fips.us-east-1.amazonaws.com/train:1@sha256:0a": {Registry: "111122223333", Region: "us-east-1", Repository: "train", Tag: "1", Digest: "sha256:0a"},
		"111122223333.dkr.ecr.eu-central-1.amazonaws.com/train":               {Registry: "111122223333", Region: "eu-central-1", Repository: "train", Tag: "latest"},
		"public.ecr.aws/docker/library/busybox:1":                             {},
		"busybox":                         {},
		"registry.example.org:5000/a/b:1": {},
		"111122223333.dkr.ecr.eu-central-1.amazonaws.com/":       {},
		"111122223333.dkr.ecr.eu-central-1.evil.example/train:1": {},
	} {
		i, ok := ParseImage(name)
		if ok != (want.Registry != "") {
			t.Errorf("%s: %v", name, ok)
		}
		if want.Name = name; ok && !slices.Equal([]string{i.Registry, i.Region, i.Repository, i.Tag, i.Digest}, []string{want.Registry, want.Region, want.Repository, want.Tag, want.Digest}) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

func TestArchitectures(t *testing.T) {
	_, c := scripted(answer{status: 200, body: `{"imageDetails":[{"imageDigest":"sha256:0a"}]}`},
		answer{status: 200, body: `{"images":[{"imageManifest":"{\"manifests\":[{\"platform\":{\"architecture\":\"amd64\"}},{\"platform\":{\"architecture\":\"unknown\"}},{\"platform\":{\"architecture\":\"arm64\"}}]}"}]}`})
	i, err := c.FindImage(t.Context(), Image{Repository: "x", Tag: "1", Region: "eu-central-1"})
	if err != nil || !i.Found || !slices.Equal(i.Architectures, []string{"amd64", "arm64"}) {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestTrust(t *testing.T) {
	for policy, want := range map[string]bool{
		`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":["ec2.amazonaws.com","ecs-tasks.amazonaws.com"]}}]}`: true,
		`{"Statement":{"Effect":"Allow","Action":"sts:*","Principal":{"Service":"ecs-tasks.amazonaws.com"}}}`:                                  true,
		`{"Statement":{"Effect":"Allow","Action":"*","Principal":"*"}}`:                                                                        true,
		`{"Statement":{"Effect":"Deny","Action":"sts:AssumeRole","Principal":{"Service":"ecs-tasks.amazonaws.com"}}}`:                          false,
		`{"Statement":{"Effect":"Allow","Action":"sts:TagSession","Principal":{"Service":"ecs-tasks.amazonaws.com"}}}`:                         false,
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"*"}}}`:                                                   false,
		`not json`: false,
	} {
		services, _ := trusted([]byte(policy))
		if got := (Role{Services: services}).Trusts("ecs-tasks.amazonaws.com"); got != want {
			t.Errorf("%s: %v", policy, got)
		}
	}
}

// TestActivities reads the example of the API reference.
func TestActivities(t *testing.T) {
	_, c := scripted(answer{status: 200, body: `<DescribeScalingActivitiesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><DescribeScalingActivitiesResult><Activities>
		<member><StatusCode>Failed</StatusCode><Description>Launching a new EC2 instance.  Status Reason: no capacity</Description><StatusMessage>no capacity</StatusMessage><StartTime>2026-01-01T00:00:00.123Z</StartTime></member>
		</Activities></DescribeScalingActivitiesResult></DescribeScalingActivitiesResponse>`})
	all, err := c.Activities(t.Context(), "g")
	if err != nil || len(all) != 1 || all[0] != (Activity{At: 1767225600123, Status: "Failed", Description: "Launching a new EC2 instance.  Status Reason: no capacity", Message: "no capacity"}) {
		t.Errorf("%+v %v", all, err)
	}
}

// TestForbidden asks IAM about the actions of a role's session and of a user.
func TestForbidden(t *testing.T) {
	identity := func(arn string) answer {
		return answer{status: 200, body: `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>` + arn + `</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`}
	}
	decision := func(action, what, resource string) answer {
		return answer{status: 200, body: `<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><EvaluationResults><member><EvalActionName>` + action + `</EvalActionName><EvalDecision>` + what +
			`</EvalDecision><EvalResourceName>` + resource + `</EvalResourceName></member></EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>`}
	}
	role := answer{status: 200, body: `<GetRoleResponse><GetRoleResult><Role><Arn>arn:aws:iam::123456789012:role/teams/ops</Arn></Role></GetRoleResult></GetRoleResponse>`}
	actions := map[string][]string{"batch:CreateJobQueue": {":job-queue/q"}, "batch:UpdateJobQueue": {"arn:q"}}

	s, c := scripted(identity("arn:aws:sts::123456789012:assumed-role/ops/me"), role, decision("batch:CreateJobQueue", "allowed", "*"), decision("batch:UpdateJobQueue", "implicitDeny", "arn:q"))
	forbidden, err := c.Forbidden(t.Context(), actions)
	if err != nil || !slices.Equal(forbidden, []Permission{{"batch:UpdateJobQueue", "arn:q", false, false}}) {
		t.Errorf("a session: %v, %v", forbidden, err)
	}
	var asked []string
	for _, r := range s.asked[2:] {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		form, err := url.ParseQuery(string(text))
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, form.Get("PolicySourceArn")+" "+form.Get("ActionNames.member.1")+" "+form.Get("ResourceArns.member.1"))
	}
	if want := []string{"arn:aws:iam::123456789012:role/teams/ops batch:CreateJobQueue arn:aws:batch:eu-central-1:123456789012:job-queue/q", "arn:aws:iam::123456789012:role/teams/ops batch:UpdateJobQueue arn:q"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}

	_, c = scripted(identity("arn:aws:iam::123456789012:user/me"), decision("batch:CreateJobQueue", "explicitDeny", "*"), decision("batch:UpdateJobQueue", "allowed", "arn:q"))
	if forbidden, err := c.Forbidden(t.Context(), actions); err != nil || !slices.Equal(forbidden, []Permission{{"batch:CreateJobQueue", "", true, false}}) {
		t.Errorf("a user: %v, %v", forbidden, err)
	}
	_, c = scripted(identity("arn:aws:iam::123456789012:user/me"), answer{status: 403, body: `<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>`})
	if _, err := c.Forbidden(t.Context(), actions); !Denied(err) {
		t.Errorf("without the permission to ask: %v", err)
	}
}
