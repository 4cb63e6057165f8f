//go:build unix

package container

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// TestStaged checks that the file that a variable names is mounted, and nothing else.
func TestStaged(t *testing.T) {
	state, err := real(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, link := filepath.Join(state, StagedDir), filepath.Join(t.TempDir(), "link")
	name := func(digit string) string { return strings.Repeat(digit, 64) + ".txt" }
	for _, err := range []error{
		os.Mkdir(dir, 0o700), os.Symlink(state, link), os.Mkdir(filepath.Join(dir, name("d")), 0o700),
		os.WriteFile(filepath.Join(dir, name("a")), nil, 0o600), os.WriteFile(filepath.Join(dir, "key.txt"), nil, 0o600),
		os.WriteFile(filepath.Join(state, name("a")), nil, 0o600), os.Symlink(filepath.Join(dir, "key.txt"), filepath.Join(dir, name("e"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const mounted = "--mount=type=bind,source="
	for _, c := range []struct{ value, destination string }{
		{dir + "/" + name("a"), dir + "/" + name("a")},
		// as the user wrote the directory
		{link + "/" + StagedDir + "/" + name("a"), link + "/" + StagedDir + "/" + name("a")},
		{dir + "/" + name("b"), ""}, // not there
		{dir + "/" + name("d"), ""}, // a directory
		{dir + "/" + name("e"), ""}, // a link
		{dir + "/key.txt", ""},
		{dir, ""},
		{state + "/" + name("a"), ""},
		{dir + "/../" + StagedDir + "/" + name("a"), ""},
		{StagedDir + "/" + name("a"), ""},
		{"s3://" + name("a"), ""},
		{"", ""},
	} {
		a := attempt.Attempt{Environment: []types.KeyValuePair{{Name: aws.String("ONE"), Value: &c.value}, {Name: aws.String("TWO"), Value: &c.value}}}
		args, err := (&Executor{options: Options{Dir: state}}).staged(a)
		var want []string
		if c.destination != "" {
			want = []string{mounted + dir + "/" + name("a") + ",destination=" + c.destination + ",readonly"}
		}
		if err != nil || !slices.Equal(args, want) {
			t.Errorf("%s: %q, %v; want %q", c.value, args, err, want)
		}
	}
	strange := filepath.Join(t.TempDir(), "a,b")
	if err := os.Symlink(state, strange); err != nil {
		t.Fatal(err)
	}
	value := strange + "/" + StagedDir + "/" + name("a")
	_, err = (&Executor{options: Options{Dir: state}}).staged(attempt.Attempt{Environment: []types.KeyValuePair{{Name: aws.String("ONE"), Value: &value}}})
	if err == nil || !strings.HasPrefix(err.Error(), "ONE: ") {
		t.Errorf("a path that a flag cannot hold: %v", err)
	}
}

// testStaged lets a user without permissions read the staged text of a job, and try to write it.
func testStaged(t *testing.T, x *Executor) {
	path := filepath.Join(x.options.Dir, StagedDir, strings.Repeat("a", 64)+".txt")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("cells\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ members, output string }{
		{`"command": ["/job", "read", "` + path + `"], "user": "1234:99", "readonlyRootFilesystem": true`, "cells\n"},
		{`"command": ["/job", "write", "` + path + `"]`, path + " false\n"},
	} {
		r := newTrial(t, x, c.members)
		r.a.Environment = pairs([][2]string{{"BATCHCTL_ARRAY_URL", path}})
		r.run(t, t.Context()).want(t, 0, c.output, "")
	}
}

// TestStagedCheckpoint checks that a container can write only the checkpoint of its own job, child or chain of retries.
func TestStagedCheckpoint(t *testing.T) {
	state, err := real(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, StagedDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		to, job, origin, index string
		own                    string
	}{
		"job":        {dir + "/checkpoints/", "job", "", "", "job"},
		"child":      {dir + "/checkpoints/", "array:3", "", "3", "array/3"},
		"retried":    {dir + "/checkpoints/", "again", "first", "", "first"},
		"by id":      {dir + "/checkpoints/${AWS_BATCH_JOB_ID}", "array:3", "", "3", "array:3"},
		"elsewhere":  {"/data", "job", "", "", ""},
		"not below":  {dir + "/", "job", "", "", ""},
		"others":     {dir + "/checkpoints/", "job", "..", "", ""},
		"up":         {dir + "/checkpoints/../", "job", "", "", ""},
		"S3":         {"s3://bucket/checkpoints/", "job", "", "", ""},
		"not engine": {state + "/checkpoints/", "job", "", "", ""},
	} {
		a := attempt.Attempt{Job: c.job, ID: "attempt"}
		for variable, value := range map[string]string{"BATCHCTL_STAGE": `{"version":1,"checkpoint":{"path":"/ckpt","to":"` + c.to + `"}}`,
			"AWS_BATCH_JOB_ID": c.job, "BATCHCTL_CHECKPOINT_JOB": c.origin, "AWS_BATCH_JOB_ARRAY_INDEX": c.index} {
			if value != "" {
				a.Environment = append(a.Environment, types.KeyValuePair{Name: aws.String(variable), Value: aws.String(value)})
			}
		}
		args, err := (&Executor{options: Options{Dir: state}}).staged(a)
		var want []string
		if c.own != "" {
			own := dir + "/checkpoints/" + c.own
			want = []string{"--mount=type=bind,source=" + own + ",destination=" + own}
			if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o777 {
				t.Errorf("%s: %v %v", name, info, err)
			}
		}
		if err != nil || !slices.Equal(args, want) {
			t.Errorf("%s: %q, %v; want %q", name, args, err, want)
		}
	}
}
