package target

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// withoutAWS removes every setting of the AWS tools, and sets those in env. config becomes ~/.aws/config.
func withoutAWS(t *testing.T, config string, env map[string]string) {
	t.Helper()
	home := t.TempDir()
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, ".aws", "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, ".aws", "credentials"))
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws", "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range env {
		t.Setenv(name, strings.ReplaceAll(value, "$HOME", home))
	}
}

// fails checks the message and the remedy of a call of Batch, and of a call without the SDK.
func fails(t *testing.T, entry document.Target, what, fix string) {
	t.Helper()
	if entry.Region == "" {
		entry.Region = "us-east-1"
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(own *os.File) { os.Stderr = own }(os.Stderr)
	os.Stderr = stderr // the SDK's own logger would write to it
	cfg, err := AWSConfig(t.Context(), &term.Console{}, entry)
	if err == nil {
		_, err = awsbatch.NewFromConfig(cfg).DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{})
		err = client.Failed("describe job queues", err)
		other := rpc.New(cfg).JSON(t.Context(), rpc.SSM, "GetParameter", struct{}{}, &struct{}{})
		if login := rpc.Login(other); login == nil || !strings.Contains(login.Error(), what) {
			t.Errorf("ssm: %v, want %q", other, what)
		}
	}
	if text, err := os.ReadFile(stderr.Name()); err != nil || len(text) > 0 {
		t.Errorf("the SDK logs %q, %v", text, err)
	}
	stderr.Close()
	got := exit.From(err)
	if !strings.Contains(got.Message, what) || !strings.Contains(got.Hint, fix) || got.Code != exit.NotDone {
		t.Errorf("status %d: %s\n  %s\nwant %q and %q", got.Code, got.Message, got.Hint, what, fix)
	}
	for _, layer := range []string{"get identity", "failed to refresh", "operation error"} {
		if strings.Contains(got.Message, layer) {
			t.Errorf("the message has the SDK's %q: %s", layer, got.Message)
		}
	}
}

// TestCredentialsThatCannotBeFound configures credentials that cannot be retrieved.
func TestCredentialsThatCannotBeFound(t *testing.T) {
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasPrefix(r.URL.Path, "/latest/"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(r.URL.Path, "/task"):
			w.WriteHeader(http.StatusInternalServerError)
		case strings.Contains(string(text), "AssumeRoleWithWebIdentity"):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no such provider</Message></Error></ErrorResponse>`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>User x is not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>`)
		}
	}))
	defer server.Close()
	session := "[profile %s]\nsso_session = s\nsso_account_id = 111122223333\nsso_role_name = r\nregion = us-east-1\n[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://x.awsapps.com/start\n"
	for _, c := range []struct {
		name, config string
		env          map[string]string
		entry        document.Target
		what, fix    string
	}{
		{name: "nothing", what: "no AWS credentials found", fix: "aws configure"},
		{name: "in a job", env: map[string]string{"AWS_BATCH_JOB_ID": "1"}, what: "no AWS credentials found", fix: "jobRoleArn"},
		{name: "half a key", env: map[string]string{"AWS_ACCESS_KEY_ID": "a"}, what: "no AWS credentials found", fix: "aws configure"},
		{name: "instance without a role", env: map[string]string{"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL}, what: "no AWS credentials found", fix: "give this machine a role"},
		{name: "profile that does not exist", entry: document.Target{Profile: "nosuch"}, what: "no AWS profile nosuch", fix: "aws configure --profile nosuch"},
		{name: "profile of the environment", env: map[string]string{"AWS_PROFILE": "nosuch"}, what: "no AWS profile nosuch", fix: "aws configure list-profiles"},
		{name: "SSO session", config: fmt.Sprintf(session, "dev"), entry: document.Target{Profile: "dev"}, what: "SSO session has expired", fix: "aws sso login --profile dev"},
		{name: "SSO without a session section", config: "[profile old]\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-east-1\nsso_account_id = 111122223333\nsso_role_name = r\n", entry: document.Target{Profile: "old"}, what: "SSO session has expired", fix: "aws sso login --profile old"},
		{name: "role with an SSO source", config: fmt.Sprintf(session, "dev") + "[profile ops]\nrole_arn = arn:aws:iam::111122223333:role/r\nsource_profile = dev\n", entry: document.Target{Profile: "ops"}, what: "SSO session has expired", fix: "aws sso login --profile dev"},
		{name: "login session", config: "[profile web]\nlogin_session = arn:aws:iam::111122223333:user/u\nregion = us-east-1\n", entry: document.Target{Profile: "web"}, what: "login session has expired", fix: "aws login --profile web"},
		{name: "credential_process", config: "[profile p]\ncredential_process = false\n", entry: document.Target{Profile: "p"}, what: "credential_process of profile p failed: error in credential_process: exit status 1", fix: "yourself"},
		{name: "container endpoint without an answer", env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/task"}, what: "no AWS credentials found: the container's endpoint for them, http://127.0.0.1:1/task, failed: connection refused", fix: "role of the ECS task"},
		{name: "container endpoint with a fault", env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/task"}, what: "/task, failed: HTTP 500 Internal Server Error", fix: "EKS pod"},
		{name: "token file", env: map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": "$HOME/none"}, what: "cannot read the web identity token in ", fix: "AWS_WEB_IDENTITY_TOKEN_FILE"},
		{name: "token", env: map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": "$HOME/.aws/config", "AWS_ENDPOINT_URL": server.URL}, config: "# no token", what: "InvalidIdentityToken: no such provider", fix: "trust policy"},
		{name: "role of the target", env: map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": server.URL}, entry: document.Target{RoleARN: "arn:aws:iam::111122223333:role/r"}, what: "not allowed to assume the role: User x", fix: "sts:AssumeRole"},
		{name: "role with a source that does not exist", config: "[profile r]\nrole_arn = arn:aws:iam::111122223333:role/r\nsource_profile = none\n", env: keys, entry: document.Target{Profile: "r"}, what: "no AWS profile none", fix: "aws configure --profile none"},
		{name: "role with a source without credentials", config: "[profile r]\nrole_arn = arn:aws:iam::111122223333:role/r\nsource_profile = s\n[profile s]\nregion = us-east-1\n", entry: document.Target{Profile: "r"}, what: "profile s has no credentials to assume", fix: "source_profile"},
		{name: "file without the profile", config: "[profile\n", entry: document.Target{Profile: "x"}, what: "no AWS profile x", fix: "aws configure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			withoutAWS(t, c.config, c.env)
			fails(t, c.entry, c.what, c.fix)
		})
	}
}

// TestCredentialsThatAWSRejects lets a server reject them, in JSON and by its clock.
func TestCredentialsThatAWSRejects(t *testing.T) {
	for _, c := range []struct {
		code, what, fix string
		late            time.Duration
	}{
		{code: "ExpiredTokenException", what: "the AWS session has expired", fix: "aws sso login"},
		{code: "ExpiredToken", what: "the AWS session has expired (ExpiredToken)", fix: "session credentials"},
		{code: "UnrecognizedClientException", what: "AWS does not accept these credentials", fix: "aws sts get-caller-identity"},
		{code: "InvalidClientTokenId", what: "AWS does not accept these credentials", fix: "inactive"},
		{code: "MissingAuthenticationTokenException", what: "AWS does not accept these credentials", fix: "inactive"},
		{code: "InvalidSignatureException", what: "the secret access key does not belong to the access key", fix: "aws configure"},
		{code: "SignatureDoesNotMatch", late: 20 * time.Minute, what: "the local clock differs by 20m from the clock of AWS", fix: "NTP"},
		{code: "InvalidSignatureException", late: -90 * time.Minute, what: "the local clock differs by 1h30m from", fix: "set the local clock"},
		{code: "RequestExpired", what: "the signature of the request has expired", fix: "check the local clock"},
		{code: "RequestTimeTooSkewed", late: time.Hour, what: "the local clock differs by 1h", fix: "set the local clock"},
	} {
		t.Run(c.code+c.late.String(), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(c.late).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprintf(w, `{"__type":"x#%s","message":"no"}`, c.code)
			}))
			defer server.Close()
			withoutAWS(t, "", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": server.URL})
			fails(t, document.Target{}, c.what, c.fix)
		})
	}
}

// TestAccountThatIsNotAllowed: a policy can deny GetCallerIdentity, which is no reason to send nothing.
func TestAccountThatIsNotAllowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>explicit deny</Message></Error></ErrorResponse>`)
	}))
	defer server.Close()
	withoutAWS(t, "", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1"})
	cfg, err := AWSConfig(t.Context(), &term.Console{}, document.Target{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = AccountOf(t.Context(), cfg)
	if err == nil || err.Error() != "not allowed: sts:GetCallerIdentity" || rpc.Login(err) != nil {
		t.Errorf("got %v", err)
	}
}

// TestEndIsNotAFault: Ctrl-C while credentials are retrieved is not a fault of the credentials.
func TestEndIsNotAFault(t *testing.T) {
	withoutAWS(t, "[profile p]\ncredential_process = false\n", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cfg, err := AWSConfig(ctx, &term.Console{}, document.Target{Profile: "p"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := cfg.Credentials.Retrieve(ctx); err == nil || rpc.Login(err) != nil {
		t.Errorf("got %v", err)
	}
}
