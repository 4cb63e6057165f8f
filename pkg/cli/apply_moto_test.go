package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// enterprise copies templates/enterprise for a user, with other texts in its files.
func (u *user) enterprise(replace ...string) {
	u.t.Helper()
	from := filepath.Join("..", "..", "templates", "enterprise")
	if err := os.CopyFS(u.dir, os.DirFS(from)); err != nil {
		u.t.Fatal(err)
	}
	for _, name := range []string{"batchctl.json", "queues/environments.json", "queues/queues.json"} {
		text, err := os.ReadFile(filepath.Join(u.dir, name))
		if err != nil {
			u.t.Fatal(err)
		}
		u.write(name, strings.NewReplacer(replace...).Replace(string(text)))
	}
	u.write("empty/batchctl.json", `{"prefix": "acme-"}`)
	u.write("empty/none.json", `{"$schema": "resources.schema.json", "jobQueues": []}`)
}

// useEnterprise applies the reference setup, submits its jobs, changes and exports it, and removes everything.
func (u *user) useEnterprise() {
	t := u.t
	t.Helper()
	u.types(0, "validate .")
	out, _ := u.types(4, "apply queues --check --owner platform")
	if n := strings.Count(out, "+ create"); n != 11 {
		t.Errorf("%d resources are new, want 11:\n%s", n, out)
	}
	u.types(0, "apply queues --yes --owner platform")
	u.types(0, "apply queues --check --owner platform")
	out, _ = u.types(0, "queues")
	for _, queue := range []string{"acme-cpu", "acme-gpu", "acme-shared", "acme-cpu-research", "acme-cpu-vision", "acme-own-hosts"} {
		if !strings.Contains(out, queue) {
			t.Errorf("queue %s is missing:\n%s", queue, out)
		}
	}
	u.types(0, "submit jobs/definition.json jobs/submission.json jobs/pipeline.json --wait")
	u.types(0, "status main")

	u.types(0, "export --file all.json")
	u.types(0, "apply all.json --check --platform empty/batchctl.json")

	text, err := os.ReadFile(filepath.Join(u.dir, "queues", "queues.json"))
	if err != nil {
		t.Fatal(err)
	}
	u.write("queues/queues.json", strings.Replace(string(text), `"priority": 5`, `"priority": 6`, 1))
	out, _ = u.types(0, "apply queues --yes --owner platform")
	if out != "~ update job queue acme-cpu\n    priority: 5 -> 6\n" {
		t.Errorf("changed:\n%s", out)
	}
	u.types(0, "apply empty/none.json --yes --owner platform --prune")
	out, _ = u.types(0, "export --file left.json")
	left, err := os.ReadFile(filepath.Join(u.dir, "left.json"))
	if err != nil || strings.Contains(string(left), "acme-") {
		t.Errorf("left: %v\n%s%s", err, out, left)
	}
}

// TestEnterprise uses the reference setup on the local engine.
func TestEnterprise(t *testing.T) {
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=local", "AWS_ENDPOINT_URL=")
	t.Cleanup(func() { u.types(0, "serve --stop") })
	if err := os.Mkdir(filepath.Join(u.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.enterprise()
	u.useEnterprise()
}

// TestMotoEnterprise uses the reference setup on moto, with a network and roles that moto has.
func TestMotoEnterprise(t *testing.T) {
	endpoint := startMoto(t)
	withoutDocker(t, endpoint)
	u := newUser(t, endpoint)
	made, err := exec.Command("python3", "-c", strings.Split(motoQueue, "batch = client")[0]+"print(subnet, group, role, profile)", endpoint).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, made)
	}
	ids := strings.Fields(string(made))
	if err := os.Mkdir(filepath.Join(u.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.enterprise("subnet-0a1b2c3d4e5f60718", ids[0], `, "subnet-0b1c2d3e4f5061728"`, "", "sg-0a1b2c3d4e5f60718", ids[1],
		"arn:aws:iam::123456789012:role/AWSBatchServiceRole", ids[2], "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole", ids[3],
		`"type": "MANAGED",`, `"type": "MANAGED", "serviceRole": "`+ids[2]+`",`) // moto requires a service role
	// moto loses this member.
	queues, err := os.ReadFile(filepath.Join(u.dir, "queues", "queues.json"))
	if err != nil {
		t.Fatal(err)
	}
	u.write("queues/queues.json", regexp.MustCompile(`(?s),\s*"jobStateTimeLimitActions": \[.*?\]`).ReplaceAllString(string(queues), ""))
	u.useEnterprise()
}
