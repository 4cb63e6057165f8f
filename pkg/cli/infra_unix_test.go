//go:build unix

package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// TestInfraCutOff checks that a deployment that Ctrl-C or expired credentials end prints what
// AWS continues and how to follow it, and that status then shows the real state.
func TestInfraCutOff(t *testing.T) {
	batchctlOnPath(t)
	var expired atomic.Bool
	const id = "arn:aws:cloudformation:us-east-1:123456789012:stack/team-net/1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch operation := r.FormValue("Action"); {
		case operation == "DescribeStackEvents" && expired.Load():
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>The security token included in the request is expired</Message></Error></ErrorResponse>")
		case operation == "DescribeStackEvents":
			fmt.Fprintf(w, "<R><DescribeStackEventsResult><StackEvents><member><EventId>1</EventId><StackId>%s</StackId><Timestamp>2026-11-22T10:00:00Z</Timestamp><LogicalResourceId>team-net</LogicalResourceId><PhysicalResourceId>%s</PhysicalResourceId><ResourceStatus>CREATE_IN_PROGRESS</ResourceStatus></member></StackEvents></DescribeStackEventsResult></R>", id, id)
		case operation == "DescribeStacks":
			fmt.Fprintf(w, "<R><DescribeStacksResult><Stacks><member><StackId>%s</StackId><StackName>team-net</StackName><StackStatus>CREATE_IN_PROGRESS</StackStatus><Tags><member><Key>batchctl:infra</Key><Value>net</Value></member></Tags></member></Stacks></DescribeStacksResult></R>", id)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	u := newUser(t, server.URL)
	u.write("net.json", "{}")
	deploy := func() *exec.Cmd {
		c := exec.Command("batchctl", "infra", "deploy", "--yes", "--templates", ".", "--prefix", "team")
		c.Dir, c.Env = u.dir, u.environ
		return c
	}
	code, said := signalAfter(t, deploy(), syscall.SIGINT, "CREATE_IN_PROGRESS  team-net")
	if want := "batchctl: stopped watching: AWS continues with stack team-net\n" +
		"  see: batchctl infra status --templates . --prefix team    continue: batchctl infra deploy --templates . --prefix team\n"; code != exit.Interrupted || !strings.HasSuffix(said, want) {
		t.Errorf("exit %d, said %q", code, said)
	}
	expired.Store(true)
	_, said = u.types(exit.NotDone, "infra deploy --yes --templates . --prefix team")
	u.wants(said, "stopped watching, AWS continues with stack team-net", "ExpiredToken", "log in: aws sso login, or get new session credentials; then: batchctl infra status")
	out, _ := u.types(exit.OK, "infra status --templates . --prefix team")
	u.wants(out, "team-net  CREATE_IN_PROGRESS")
}
