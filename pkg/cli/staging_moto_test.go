package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
)

const stagingPlatform = `{
  "defaultTarget": "prod",
  "targets": {
    "prod": { "region": "us-east-1", "endpoint": "ENDPOINT", "staging": "s3://staging/of/us" },
    "lost": { "region": "us-east-1", "endpoint": "ENDPOINT", "staging": "s3://nothing/of/us" },
    "bare": { "region": "us-east-1", "endpoint": "ENDPOINT" }
  },
  "queues": { "cpu": { "jobQueue": "cpu", "computeEnvironments": [{ "type": "EC2", "instanceTypes": ["m5"], "maxvCpus": 64 }] } }
}`

const stagedJob = `{
  "name": "NAME", "image": "public.ecr.aws/docker/library/busybox:1.36",
  "command": ["sh", "-c", "echo $1 has ${#MATRIX_TEXT}", "sh", "${{ matrix.id }}"],
  "array": { "table": "long.csv", "launcher": "LAUNCHER" },
  "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m"
}`

const s3List = `{
  "name": "list", "image": "public.ecr.aws/docker/library/busybox:1.36",
  "array": { "commands": "s3://staging/lists/of%20lines.txt", "size": 2, "launcher": "LAUNCHER" },
  "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m"
}`

// longTable has cells too long for a request, and their document.
func longTable() (csv, document string) {
	csv, document = "id,text\n", "batchctl array 1\ntable 3\nname id=MATRIX_ID\nname text=MATRIX_TEXT\n"
	for i, id := range []string{"a", "b", "c"} {
		text := strings.Repeat(id, 9000+i)
		csv += id + "," + text + "\n"
		document += "+" + id + "\n&" + text + "\n"
	}
	return csv, document + "end\n"
}

// TestStagedInS3 stages texts that are too long for a request in a bucket of moto, and runs the
// children that read them.
func TestStagedInS3(t *testing.T) {
	t.Parallel()
	server := moto(t)
	object(t, http.MethodPut, server+"/staging", "")
	t.Run("table", func(t *testing.T) { testTableInS3(t, server) })
	t.Run("list", func(t *testing.T) { testListInS3(t, server) })
}

func testTableInS3(t *testing.T, server string) {
	sent, endpoint := newRecorder(t, server)
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=")
	u.write("batchctl.json", strings.ReplaceAll(stagingPlatform, "ENDPOINT", endpoint))
	csv, document := longTable()
	u.write("long.csv", csv)
	for name, launcher := range map[string]string{"shell": "sh", "binary": "batchctl"} {
		u.write(name+".json", strings.NewReplacer("NAME", name, "LAUNCHER", launcher).Replace(stagedJob))
	}
	sum := sha256.Sum256([]byte(document))
	key := "/staging/of/us/" + hex.EncodeToString(sum[:]) + ".txt"
	inChild := "AWS_ENDPOINT_URL=" + endpoint

	// Without a staging location, or with a missing one, nothing is submitted.
	_, said := u.types(exit.Problem, "submit shell.json --target bare")
	u.wants(said, "shell.json:4:12: the cells need ", "[array-staging]", `"staging": "s3://bucket/prefix"`)
	u.write("before.json", jobJSON)
	_, said = u.types(exit.NotDone, "submit before.json shell.json --target lost")
	u.wants(said, "s3://nothing/of/us/", "NoSuchBucket", "create the bucket, or give the target another")
	if got := order(sent.took()); got != "PUT "+strings.Replace(key, "/staging/", "/nothing/", 1) {
		t.Errorf("sent: %s", got)
	}

	var shell []string
	for _, name := range []string{"shell", "binary"} {
		u.types(exit.OK, "submit "+name+".json")
		calls := sent.took()
		got := order(calls)
		if !strings.Contains(got, "PUT "+key) || strings.Index(got, "PUT") > strings.Index(got, "SubmitJob") || strings.Count(got, "SubmitJob") != 1 {
			t.Errorf("sent: %s", got)
		}
		if held := object(t, http.MethodGet, server+key, ""); held != document {
			t.Errorf("the object has %d bytes, want %d", len(held), len(document))
		}
		command, environ := u.container(calls)
		if all := strings.Join(environ, "\n"); !strings.Contains(all, "BATCHCTL_ARRAY_URL=s3:/"+key) || strings.Contains(all, "BATCHCTL_ARRAY=") {
			t.Errorf("environment:\n%s", all)
		}
		if name == "shell" {
			shell = command
			continue
		}
		for i, want := range []string{"a has 9000\n", "b has 9001\n", "c has 9002\n"} {
			if out := u.child(i, command, environ, inChild); out != want {
				t.Errorf("child %d: %q, want %q", i, out, want)
			}
		}
		path := "PATH=" + u.fakeAWS("s3:/"+key, document) + ":" + os.Getenv("PATH")
		if out := u.child(1, shell, environ, path); out != "b has 9001\n" {
			t.Errorf("the shell: %q", out)
		}
		testtool.Need(t, "aws")
		if out := u.child(2, shell, environ, inChild); out != "c has 9002\n" {
			t.Errorf("the shell, with the aws CLI: %q", out)
		}
	}

	// The second time the object is the same, and the definition exists already.
	u.types(exit.OK, "submit binary.json")
	if got := order(sent.took()); got != "PUT "+key+", SubmitJob" {
		t.Errorf("again: %s", got)
	}
	if all := object(t, http.MethodGet, server+"/staging?list-type=2&prefix=of/us/", ""); strings.Count(all, "<Key>") != 1 {
		t.Errorf("the bucket has\n%s", all)
	}
}

// testListInS3 runs the children of a command list that is in the bucket.
func testListInS3(t *testing.T, server string) {
	sent, endpoint := newRecorder(t, server)
	const lines = "echo one >&2\n\necho three >&2\nfalse\necho never"
	object(t, http.MethodPut, server+"/staging/lists/of%2520lines.txt", lines)
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=")
	u.write("batchctl.json", strings.ReplaceAll(stagingPlatform, "ENDPOINT", endpoint))
	path := "PATH=" + u.fakeAWS("s3://staging/lists/of%20lines.txt", lines) + ":" + os.Getenv("PATH")
	for _, launcher := range []string{"batchctl", "sh"} {
		u.write("list.json", strings.ReplaceAll(s3List, "LAUNCHER", launcher))
		u.types(exit.OK, "submit list.json")
		command, environ := u.container(sent.took())
		u.wants(strings.Join(environ, "\n"), "LIST_FILE_S3_PATH=s3://staging/lists/of%20lines.txt", "ARRAY_SIZE=2")
		more := []string{"AWS_ENDPOINT_URL=" + endpoint}
		if launcher == "sh" {
			more = []string{path}
		}
		out, exit := u.try(0, command, environ, more...)
		if want := "batchctl: line 1 of 5\none\nbatchctl: line 2 of 5\n"; out != want || exit != 0 {
			t.Errorf("%s, child 0: exit code %d\n%swant\n%s", launcher, exit, out, want)
		}
		out, exit = u.try(1, command, environ, more...)
		if want := "batchctl: line 3 of 5\nthree\nbatchctl: line 4 of 5\nbatchctl: line 4 of 5 failed with exit code 1\n"; out != want || exit != 1 {
			t.Errorf("%s, child 1: exit code %d\n%swant\n%s", launcher, exit, out, want)
		}
	}
}
