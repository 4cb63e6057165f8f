package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/process/processtest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// findBy returns an executor that finds processes with the given method.
func findBy(t *testing.T, kind string) process.Executor {
	t.Helper()
	p, ok := process.New(nil, "").FindBy(kind)
	if !ok {
		testtool.Unsupported(t, "no %s that this user may write", kind)
	}
	return p
}

// TestEscapee is the program of other tests, see processtest.Escapee.
func TestEscapee(t *testing.T) { processtest.Escapee(t) }

// TestEscapesThroughTheEngine ends a job with escaped processes in every way that an engine has.
func TestEscapesThroughTheEngine(t *testing.T) {
	processtest.NeedEscapes(t)
	for _, kind := range []string{"cgroup2", "cgroup1", "marks"} {
		for name, end := range map[string]func(w *testEngine, id string){
			"normal":  func(*testEngine, string) {},
			"stop":    func(w *testEngine, id string) { w.terminate(id, "enough") },
			"timeout": func(*testEngine, string) {},
			"serve --stop": func(w *testEngine, _ string) {
				if _, err := w.engine.EndJobs(w.t.Context()); err != nil {
					w.t.Error(err)
				}
			},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := findBy(t, kind)
				dir, token := t.TempDir(), processtest.Token()
				defer processtest.EndSurvivors(token)
				w := open(t, Options{Executor: p})
				command := processtest.EveryEscape(dir, token)
				if name != "normal" {
					command += "sleep 1000"
				}
				w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
					in.ContainerProperties.Command = []string{"sh", "-c", command}
				})
				id := w.submit("work", func(in *awsbatch.SubmitJobInput) {
					if name == "timeout" {
						in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)}
					}
				})
				processtest.Appears(t, filepath.Join(dir, "away"))
				if name == "timeout" {
					w.engine.mu.Lock() // 60 seconds have passed
					w.engine.attempts.endAll(attempt.ErrTimeout)
					w.engine.mu.Unlock()
				}
				end(w, id)
				w.idle()
				if pids := processtest.Survivors(token); len(pids) > 0 {
					t.Errorf("processes %v outlive the job", pids)
				}
			})
		}
	}
}

// TestEscapist is the engine that TestEscapesAfterKill starts as a process and kills.
func TestEscapist(t *testing.T) {
	dir := os.Getenv("BATCHCTL_TEST_ESCAPIST")
	if dir == "" {
		t.Skip("runs only inside TestEscapesAfterKill")
	}
	p := findBy(t, os.Getenv("BATCHCTL_TEST_TREES"))
	w := open(t, Options{Dir: filepath.Join(dir, "state"), Executor: p})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", processtest.EveryEscape(dir, os.Getenv("BATCHCTL_TEST_TOKEN")) + "sleep 1000"}
	})
	w.submit("work")
	w.idle()
}

// TestEscapesAfterKill checks that the next engine ends processes that jobs of a killed engine
// left.
func TestEscapesAfterKill(t *testing.T) {
	processtest.NeedEscapes(t)
	for _, kind := range []string{"cgroup2", "cgroup1", "marks"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			next := findBy(t, kind)
			dir, token := t.TempDir(), processtest.Token()
			defer processtest.EndSurvivors(token)
			victim := exec.Command(os.Args[0], "-test.run=^TestEscapist$")
			victim.Env = append(os.Environ(), "BATCHCTL_TEST_ESCAPIST="+dir, "BATCHCTL_TEST_TREES="+kind, "BATCHCTL_TEST_TOKEN="+token)
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			processtest.Appears(t, filepath.Join(dir, "away"))
			_ = victim.Process.Kill()
			_ = victim.Wait() // it was killed
			if len(processtest.Survivors(token)) == 0 {
				t.Error("the killed engine left no process to the next one")
			}
			open(t, Options{Dir: filepath.Join(dir, "state"), Executor: next})
			if pids := processtest.Survivors(token); len(pids) > 0 {
				t.Errorf("processes %v outlive the job", pids)
			}
		})
	}
}
