//go:build unix

package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/exit"
)

// boundedJob has 12 cells on an engine with capacity for all, and runs 3 at a time. Each child
// reports its start, waits at its gate, and reports its end. Number 5 fails.
const boundedJob = `{
  "name": "bounded", "image": "public.ecr.aws/docker/library/busybox:1.36",
  "command": ["sh", "-c", "echo +$BATCHCTL_CELL >> events; : < gate$BATCHCTL_CELL; echo -$BATCHCTL_CELL >> events; [ $1 != b3 ]", "sh", "${{ matrix.a }}${{ matrix.b }}"],
  "array": { "matrix": { "a": ["a", "b", "c"], "b": [1, 2, 3, 4] }, "maxParallel": 3 },
  "resources": { "vcpus": 1, "memory": "16 MiB" }, "timeout": "5m"
}`

const roomyPlatform = `{
  "targets": { "local": { "vcpus": 12, "memory": "1 GiB" } },
  "queues": { "cpu": { "jobQueue": "cpu", "computeEnvironments": [{ "type": "EC2", "instanceTypes": ["m5"], "maxvCpus": 64 }] } }
}`

// TestMaxParallel stops the children of an array at gates and counts them. A child reports its
// end before the next one can start, so a fourth one would be noticed. The limit is deleted
// with the array.
func TestMaxParallel(t *testing.T) {
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=local")
	u.write("batchctl.json", roomyPlatform)
	u.write("bounded.json", boundedJob)
	events := u.pipe("events", os.O_RDWR)
	for cell := range 12 {
		u.pipe(fmt.Sprintf("gate%d", cell), 0)
	}
	u.types(exit.OK, "submit bounded.json")
	t.Cleanup(func() { u.types(exit.OK, "serve --stop") })
	engine := u.engine()

	if err := events.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(events)
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the children say nothing any more: %v", lines.Err())
		}
		return lines.Text()
	}
	seen := map[string]bool{}
	var inside []string
	for ended := 0; ended < 12; ended++ {
		for len(inside) < min(3, 12-ended) {
			cell, come := strings.CutPrefix(next(), "+")
			if !come || seen[cell] {
				t.Fatalf("%s goes, or comes again, with %v inside", cell, inside)
			}
			seen[cell], inside = true, append(inside, cell)
		}
		if ended == 0 {
			u.checkBound(engine)
		}
		u.open("gate" + inside[0])
		if said := next(); said != "-"+inside[0] {
			t.Fatalf("%s, with %v inside", said, inside)
		}
		inside = inside[1:]
	}

	_, said := u.types(exit.Problem, "wait bounded")
	u.wants(said, "12 of 12 ended SUCCEEDED:11 FAILED:1")
	left, err := engine.ListConsumableResources(t.Context(), &awsbatch.ListConsumableResourcesInput{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(left.ConsumableResources); n > 0 {
		t.Errorf("%d consumable resources are left", n)
	}
}

// checkBound checks the limit while running children use all of it.
func (u *user) checkBound(engine *awsbatch.Client) {
	u.t.Helper()
	out, _ := u.types(exit.OK, "status bounded")
	u.wants(out, "RUNNABLE:9")
	all, err := engine.ListConsumableResources(u.t.Context(), &awsbatch.ListConsumableResourcesInput{})
	if err != nil {
		u.t.Fatal(err)
	}
	if n := len(all.ConsumableResources); n != 1 {
		u.t.Fatalf("there are %d consumable resources", n)
	}
	if r := all.ConsumableResources[0]; aws.ToInt64(r.TotalQuantity) != 3 || aws.ToInt64(r.InUseQuantity) != 3 {
		u.t.Errorf("%s has %d, and %d are in use", aws.ToString(r.ConsumableResourceName), aws.ToInt64(r.TotalQuantity), aws.ToInt64(r.InUseQuantity))
	}
}

// pipe creates a named pipe, and opens it if there is a flag.
func (u *user) pipe(name string, flag int) *os.File {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		u.t.Fatal(err)
	}
	if flag == 0 {
		return nil
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { f.Close() })
	return f
}

// open lets the reader of a pipe continue. The reader may not wait yet.
func (u *user) open(name string) {
	u.t.Helper()
	f, err := os.OpenFile(filepath.Join(u.dir, name), os.O_WRONLY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	f.Close()
}

// engine is a client of the user's local engine.
func (u *user) engine() *awsbatch.Client {
	u.t.Helper()
	out, _ := u.types(exit.OK, "serve --exports")
	exported := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		exported[name] = strings.Trim(value, `'"`)
	}
	return awsbatch.New(awsbatch.Options{Region: exported["AWS_REGION"], BaseEndpoint: aws.String(exported["AWS_ENDPOINT_URL_BATCH"]),
		Credentials: credentials.NewStaticCredentialsProvider(exported["AWS_ACCESS_KEY_ID"], exported["AWS_SECRET_ACCESS_KEY"], "")})
}
