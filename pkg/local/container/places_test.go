//go:build unix

package container

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/stage"
)

// stagedState returns a state directory with published files: a, b and c, a tree of a and c, and
// files that the job must not see.
func stagedState(t *testing.T) (x *Executor, dir string) {
	t.Helper()
	state, err := real(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(state, StagedDir)
	write := func(path, text string, mode os.FileMode) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		write(filepath.Join(dir, strings.Repeat(name, 64)), name, 0o400)
	}
	write(filepath.Join(dir, strings.Repeat("d", 64)+".tree"), "batchctl tree 1\n"+strings.Repeat("a", 64)+` 1 - "x"`+"\n"+strings.Repeat("c", 64)+` 1 x "y"`+"\nend\n", 0o600)
	write(filepath.Join(dir, strings.Repeat("e", 64)+".txt"), "cells", 0o600)
	write(filepath.Join(dir, OutputsDir, "other", "0", "f"), "other", 0o600)
	write(filepath.Join(state, "key"), "secret", 0o600)
	if err := os.Symlink(filepath.Join(state, "key"), filepath.Join(dir, strings.Repeat("f", 64))); err != nil {
		t.Fatal(err)
	}
	return &Executor{options: Options{Dir: state}}, dir
}

func stagedAttempt(t *testing.T, d stage.Document, more ...types.KeyValuePair) attempt.Attempt {
	t.Helper()
	d.Version = stage.Version
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return attempt.Attempt{ID: "attempt", Job: "job:3", Environment: append(more,
		types.KeyValuePair{Name: aws.String("AWS_BATCH_JOB_ID"), Value: aws.String("job:3")},
		types.KeyValuePair{Name: aws.String(stage.Variable), Value: aws.String(string(text))})}
}

// TestInputsOfDocument checks that a job sees the files that its document names, and no others.
func TestInputsOfDocument(t *testing.T) {
	x, dir := stagedState(t)
	h := func(name string) string { return strings.Repeat(name, 64) }
	args, err := x.staged(stagedAttempt(t, stage.Document{
		Inputs:  []stage.Input{{From: dir + "/" + h("b"), To: "/in/b"}, {From: dir + "/" + h("d") + ".tree", To: "/in/d", Tree: true}, {From: "s3://bucket/k", To: "/in/k"}},
		Outputs: []stage.Output{{From: "/out", To: dir + "/outputs/${AWS_BATCH_JOB_ID}/0/"}, {From: "/more", To: dir + "/outputs/${AWS_BATCH_JOB_ID}/1/"}},
	}, types.KeyValuePair{Name: aws.String("BATCHCTL_ARRAY_URL"), Value: aws.String(dir + "/" + h("e") + ".txt")}))
	if err != nil || len(args) != 2 {
		t.Fatalf("%q, %v", args, err)
	}
	source, rest, _ := strings.Cut(strings.TrimPrefix(args[0], "--mount=type=bind,source="), ",")
	if rest != "destination="+dir+",readonly" || source == dir {
		t.Errorf("%s", args[0])
	}
	var names []string
	entries, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, strings.TrimLeft(e.Name(), "abcdef")+e.Name()[:1])
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o444 != 0o444 {
			t.Errorf("%s: not for all to read: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if want := []string{"a", "b", "c", ".treed", ".txte", "outputso"}; !slices.Equal(names, want) {
		t.Errorf("it sees %q, want %q", names, want)
	}
	if entries, err := os.ReadDir(filepath.Join(source, OutputsDir)); err != nil || len(entries) != 1 || entries[0].Name() != "job:3" {
		t.Errorf("it sees outputs of %v, %v", entries, err)
	}
	if want := "--mount=type=bind,source=" + dir + "/outputs/job:3,destination=" + dir + "/outputs/job:3"; args[1] != want {
		t.Errorf("%s, want %s", args[1], want)
	}
	if info, err := os.Stat(filepath.Join(dir, OutputsDir, "job:3")); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestPathsOutsideStaged checks that a document gives access to no other file of the machine.
func TestPathsOutsideStaged(t *testing.T) {
	x, dir := stagedState(t)
	h := func(name string) string { return dir + "/" + strings.Repeat(name, 64) }
	for name, d := range map[string]stage.Document{
		"a host's file":         {Inputs: []stage.Input{{From: "/etc/passwd", To: "/in"}}},
		"the engine's key":      {Inputs: []stage.Input{{From: filepath.Dir(dir) + "/key", To: "/in"}}},
		"the whole directory":   {Inputs: []stage.Input{{From: dir, To: "/in"}, {From: dir + "/", To: "/more"}}},
		"by way of ..":          {Inputs: []stage.Input{{From: h("a") + "/../../key", To: "/in"}}},
		"other names":           {Inputs: []stage.Input{{From: dir + "/outputs", To: "/in"}, {From: h("e") + ".txt", To: "/text"}}},
		"another job's outputs": {Inputs: []stage.Input{{From: dir + "/outputs/other/0/f", To: "/in"}}, Outputs: []stage.Output{{From: "/o", To: dir + "/outputs/other/0/"}}},
		"beside its own":        {Outputs: []stage.Output{{From: "/o", To: dir + "/outputs/job:3/../other/"}, {From: "/p", To: dir + "/outputs/"}, {From: "/q", To: dir + "/"}}},
		"an output anywhere":    {Outputs: []stage.Output{{From: "/o", To: "/tmp/outputs/job:3/0/"}, {From: "/p", To: "/home/"}}},
		"an unset variable":     {Inputs: []stage.Input{{From: dir + "/${NAME}", To: "/in"}}},
	} {
		if args, err := x.staged(stagedAttempt(t, d)); len(args) > 0 || err != nil {
			t.Errorf("%s: %q, %v", name, args, err)
		}
	}
	link := stage.Document{Inputs: []stage.Input{{From: h("f"), To: "/in"}}}
	if args, err := x.staged(stagedAttempt(t, link)); err == nil {
		t.Errorf("a link: %q", args)
	}
	broken := attempt.Attempt{ID: "attempt", Job: "job", Environment: []types.KeyValuePair{{Name: aws.String(stage.Variable), Value: aws.String(`{"version":1,"inputs":[{"from":"` + h("a") + `"`)}}}
	if args, err := x.staged(broken); len(args) > 0 || err != nil {
		t.Errorf("a broken document: %q, %v", args, err)
	}
	for _, id := range []string{"..", ".", "a/b", ""} {
		a := stagedAttempt(t, stage.Document{Outputs: []stage.Output{{From: "/o", To: dir + "/outputs/" + id + "/0/"}}})
		a.Job = id
		if args, err := x.staged(a); len(args) > 0 || err != nil {
			t.Errorf("a job %q: %q, %v", id, args, err)
		}
	}
}

// testInputsAndOutputs lets a user without permissions read the job's inputs and write its
// outputs, as a child of an array.
func testInputsAndOutputs(t *testing.T, x *Executor) {
	dir, sum := filepath.Join(x.options.Dir, StagedDir), strings.Repeat("b", 64)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sum, strings.Repeat("c", 64)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("data\n"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	own := dir + "/" + OutputsDir + "/job:3"
	for _, c := range []struct {
		members, output string
		exit            int
	}{
		{`"command": ["/job", "read", "` + dir + "/" + sum + `"], "user": "1234:99", "readonlyRootFilesystem": true`, "data\n", 0},
		{`"command": ["/job", "read", "` + dir + "/" + strings.Repeat("c", 64) + `"]`, "open " + dir + "/" + strings.Repeat("c", 64) + ": no such file or directory\n", 1},
		{`"command": ["/job", "write", "` + dir + "/" + sum + `", "` + dir + `/new", "` + own + `/result", "` + dir + `/outputs/other"], "user": "1234:99"`,
			dir + "/" + sum + " false\n" + dir + "/new false\n" + own + "/result true\n" + dir + "/outputs/other false\n", 0},
	} {
		r := newTrial(t, x, c.members)
		r.a.Job = "job:3"
		r.a.Environment = stagedAttempt(t, stage.Document{Inputs: []stage.Input{{From: dir + "/" + sum, To: "/in"}},
			Outputs: []stage.Output{{From: "/out", To: dir + "/outputs/${AWS_BATCH_JOB_ID}/0/"}}}).Environment
		r.run(t, t.Context()).want(t, c.exit, c.output, "")
	}
	if text, err := os.ReadFile(own + "/result"); err != nil || string(text) != "written\n" {
		t.Errorf("what the job wrote: %q, %v", text, err)
	}
}
