package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// sts is a server that knows whose credentials these are and what role they may take.
func sts(t *testing.T, account string, calls *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		*calls = append(*calls, strings.TrimSpace(r.Form.Get("Action")+" "+r.Form.Get("RoleArn")+r.URL.Path[1:])+" by "+key)
		w.Header().Set("Content-Type", "text/xml")
		switch r.Form.Get("Action") {
		case "GetCallerIdentity":
			fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Account>%s</Account>`+
				`<Arn>arn:aws:iam::%[1]s:user/a</Arn><UserId>A</UserId></GetCallerIdentityResult></GetCallerIdentityResponse>`, account)
		case "AssumeRole", "AssumeRoleWithWebIdentity":
			fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials><AccessKeyId>ROLEKEY</AccessKeyId>`+
				`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></%[1]sResult></%[1]sResponse>`, r.Form.Get("Action"))
		default:
			w.Header().Set("X-Amzn-ErrorType", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message": "not allowed"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAWSTargets(t *testing.T) {
	dir := t.TempDir()
	job := filepath.Join(dir, "job.json")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("job.json", `{"name": "a", "image": "public.ecr.aws/x/y:1", "command": ["true"], "resources": {"vcpus": 1, "memory": 64}, "timeout": "1h", "queue": "q"}`)
	write("config", "[profile other]\nregion = eu-west-1\naws_access_key_id = OTHERKEY\naws_secret_access_key = s\n")
	for name, value := range map[string]string{"AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
		"AWS_ACCESS_KEY_ID": "MYKEY", "AWS_SECRET_ACCESS_KEY": "s", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
		"BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "AWS_PROFILE": "", "AWS_REGION": "", "BATCHCTL_TARGET": ""} {
		t.Setenv(name, value)
	}
	state := 0
	for _, c := range []struct {
		name, target, account string
		flags                 []string
		code                  int
		says                  []string
		calls                 string // one of them; empty: none is a call of Batch
	}{
		{"flags alone mean AWS", `{}`, "111122223333", []string{"--region", "us-east-2"}, exit.Problem,
			[]string{"target: aws 111122223333 us-east-2"}, "GetCallerIdentity by MYKEY"},
		{"a profile of the command line", `{"region": "us-east-1"}`, "111122223333", []string{"--target", "prod", "--profile", "other", "--region", "eu-north-1"}, exit.Problem,
			[]string{"target: aws 111122223333 eu-north-1"}, "GetCallerIdentity by OTHERKEY"},
		{"the right account", `{"region": "us-east-1", "accountId": "111122223333"}`, "111122223333", []string{"--target", "prod"}, exit.Problem,
			[]string{"target: aws 111122223333 us-east-1"}, "GetCallerIdentity by MYKEY"},
		{"another account", `{"region": "us-east-1", "accountId": "999999999999"}`, "111122223333", []string{"--target", "prod"}, exit.NotDone,
			[]string{"target prod is account 999999999999, but the credentials are for account 111122223333: nothing was sent", "--profile NAME"}, ""},
		{"a role", `{"region": "us-east-1", "roleArn": "arn:aws:iam::111122223333:role/submitter"}`, "111122223333", []string{"--target", "prod"}, exit.Problem,
			[]string{"target: aws 111122223333 us-east-1"}, "GetCallerIdentity by ROLEKEY"},
		{"not for the local engine", `{}`, "", []string{"--target", "local", "--profile", "other"}, exit.BadUsage,
			[]string{"--region, --profile and --endpoint-url apply only to an AWS target"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls []string
			state++
			t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(dir, fmt.Sprint("state", state)))
			t.Setenv("AWS_ENDPOINT_URL", sts(t, c.account, &calls))
			write("batchctl.json", `{"targets": {"prod": `+c.target+`}, "queues": {"q": {"jobQueue": "q"}}}`)
			var out, story strings.Builder
			code := cli.Main(t.Context(), append([]string{"batchctl", "submit", job}, c.flags...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.says {
				if !strings.Contains(story.String(), want) {
					t.Errorf("the story lacks %q", want)
				}
			}
			if all := strings.Join(calls, "\n"); !strings.Contains(all, c.calls) || strings.Contains(all, "v1/") != (c.calls != "") {
				t.Errorf("calls:\n%s\nwant %s", all, c.calls)
			}
			if t.Failed() {
				t.Log(story.String())
			}
		})
	}
}

// TestAccountIsRemembered checks that the account of credentials is queried once,
// and again for other credentials.
func TestAccountIsRemembered(t *testing.T) {
	dir := t.TempDir()
	job := filepath.Join(dir, "job.json")
	if err := os.WriteFile(job, []byte(`{"name": "a", "definition": "d:1", "queue": "q"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for name, value := range map[string]string{"AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
		"AWS_ACCESS_KEY_ID": "MYKEY", "AWS_SECRET_ACCESS_KEY": "s", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "AWS_PROFILE": "",
		"AWS_REGION": "us-east-1", "BATCHCTL_TARGET": "aws", "BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "AWS_ENDPOINT_URL": sts(t, "111122223333", &calls)} {
		t.Setenv(name, value)
	}
	asked := func(key string) (n int) {
		for _, c := range calls {
			if c == "GetCallerIdentity by "+key {
				n++
			}
		}
		return n
	}
	submit := func() {
		t.Helper()
		var story strings.Builder
		cli.Main(t.Context(), []string{"batchctl", "submit", job}, term.Streams{In: strings.NewReader(""), Out: &story, Err: &story})
		if !strings.Contains(story.String(), "target: aws 111122223333 us-east-1") {
			t.Error(story.String())
		}
	}
	submit()
	submit()
	if n := asked("MYKEY"); n != 1 {
		t.Errorf("asked %d times, want 1: %q", n, calls)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "OTHERKEY")
	submit()
	if n := asked("OTHERKEY"); n != 1 {
		t.Errorf("asked %d times for other credentials, want 1: %q", n, calls)
	}
	path := filepath.Join(dir, "state", "accounts.json")
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "KEY") {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	submit()
	if n := asked("OTHERKEY"); n != 2 {
		t.Errorf("asked %d times after the memory was lost, want 2", n)
	}
}

// inCI returns a user with only these variables, as a CI system starts programs: no HOME, no configuration file.
func inCI(t *testing.T, variables ...string) *user {
	dir := t.TempDir()
	u := &user{t, dir, append([]string{"PATH=" + os.Getenv("PATH"), "BATCHCTL_STATE_DIR=" + filepath.Join(dir, "state"), "BATCHCTL_TARGET=aws",
		"AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1"}, variables...)}
	u.write("train.json", jobJSON)
	u.write("token", "eyJ0b2tlbiI6MX0")
	return u
}

// TestWebIdentity checks that a token is exchanged at the endpoint of the environment, and what is printed
// if a part is missing.
func TestWebIdentity(t *testing.T) {
	batchctlOnPath(t)
	var calls []string
	server := sts(t, "111122223333", &calls)
	const role = "AWS_ROLE_ARN=arn:aws:iam::111122223333:role/ci"
	u := inCI(t, "AWS_ENDPOINT_URL="+server, "AWS_REGION=us-east-1", role, "AWS_WEB_IDENTITY_TOKEN_FILE=token")
	_, said := u.types(exit.Problem, "submit train.json")
	u.wants(said, "target: aws 111122223333 us-east-1", "not allowed")
	if len(calls) < 2 || calls[0] != "AssumeRoleWithWebIdentity arn:aws:iam::111122223333:role/ci by " || calls[1] != "GetCallerIdentity by ROLEKEY" {
		t.Errorf("%q", calls)
	}
	u = inCI(t, "AWS_ENDPOINT_URL="+server, "AWS_REGION=us-east-1", role, "AWS_WEB_IDENTITY_TOKEN_FILE=none")
	_, said = u.types(exit.NotDone, "submit train.json")
	u.wants(said, "cannot read the web identity token in none", "check AWS_WEB_IDENTITY_TOKEN_FILE")
	u = inCI(t, "AWS_ENDPOINT_URL="+server, "AWS_REGION=us-east-1", "AWS_WEB_IDENTITY_TOKEN_FILE=token")
	_, said = u.types(exit.NotDone, "submit train.json")
	u.wants(said, "role ARN is not set", "set AWS_ROLE_ARN")
}
