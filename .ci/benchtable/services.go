package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// submitGroups compares batchctl with the aws CLI, each submitting to the same service, and with the quota of AWS
// Batch. The engine is a service that recognises repeated requests. At any endpoint but AWS's own, such as that of
// moto_server, batchctl waits a second and checks that no request was delivered twice. One submit has no goal there.
func (w *workshop) submitGroups() []group {
	return append(append(w.submitsTo("submit/", "local", w.startEngine, atLeast(12)),
		w.submitsTo("submit/moto-", "aws", w.startMoto, goal{})...), w.throttledGroup())
}

// submitsTo compares one submit, and that of 200 jobs from one file, to a service that start starts. Start returns the
// variables with which clients find the service.
func (w *workshop) submitsTo(prefix, target string, start func(context.Context) ([]string, func(), error),
	one goal) []group {
	const looped = 20 // of the 200 jobs: the rest of the loop would take as long for each
	jobs := w.size(200, 20)
	var env []string
	batchctl := func(name string) side {
		return side{name: name, run: func(ctx context.Context) (figures, error) {
			return w.timed(ctx, program{env: env, args: []string{w.path("batchctl"), "submit", "--target", target,
				w.path(name + ".json")}})
		}}
	}
	aws := func(ctx context.Context) (figures, error) {
		return w.timed(ctx, program{env: env, args: []string{"aws", "batch", "submit-job", "--job-name", "one",
			"--job-queue", "default", "--job-definition", "work"}})
	}
	loop := func(ctx context.Context) (figures, error) {
		total, n := 0.0, w.size(looped, 2)
		for range n {
			f, err := aws(ctx)
			if err != nil {
				return nil, err
			}
			total += f[seconds][0]
		}
		return figures{seconds: {total / float64(n) * float64(jobs)}}, nil
	}
	open := func(ctx context.Context) (stop func(), err error) {
		if err := lookPath("aws"); err != nil {
			return nil, err
		}
		if _, err := w.batchctl(); err != nil {
			return nil, err
		}
		job := func(name string) map[string]any {
			return map[string]any{"name": name, "definition": "work", "queue": "default"}
		}
		many := make([]any, jobs)
		for i := range many {
			many[i] = job(fmt.Sprintf("job-%d", i))
		}
		if err := writeJSON(w.path("one.json"), job("one")); err != nil {
			return nil, err
		}
		if err := writeJSON(w.path("many.json"), map[string]any{"name": "many", "jobs": many}); err != nil {
			return nil, err
		}
		env, stop, err = start(ctx)
		return stop, err
	}
	return []group{{
		rounds: 9, warm: true, open: open,
		rows: []row{{name: prefix + "one", peer: "aws CLI", ours: figure{"one", seconds},
			theirs: figure{"aws", seconds}, goal: one}},
		sides: []side{batchctl("one"), {name: "aws", run: aws}},
	}, {
		rounds: 3, open: open,
		rows: []row{{name: prefix + "200", peer: "aws CLI", ours: figure{"many", seconds},
			theirs: figure{"aws", seconds}, goal: atLeast(100)}},
		sides: []side{batchctl("many"), {name: "aws", run: loop}},
	}}
}

// startEngine starts an engine with one vCPU and a definition whose first job never finishes, so that the other jobs
// wait and take no CPU.
func (w *workshop) startEngine(ctx context.Context) ([]string, func(), error) {
	c := exec.CommandContext(ctx, w.path("batchctl"), "serve", "--vcpus", "1", "--memory", "1024", "--allow-root")
	c.Dir, c.Env = w.dir, w.environment()
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
	var env []string
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "unset"); {
		if variable, found := strings.CutPrefix(lines.Text(), "export "); found {
			env = append(env, variable)
		}
	}
	if len(env) == 0 {
		stop()
		return nil, nil, errors.New("the engine prints no exports")
	}
	_, _, err = w.output(ctx,
		program{env: env, args: []string{"aws", "batch", "register-job-definition", "--job-definition-name", "work",
			"--type", "container", "--container-properties",
			`{"image":"busybox","command":["sleep","86400"],"resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]}`}})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return env, stop, nil
}

// startMoto starts a moto_server with a queue and a definition.
func (w *workshop) startMoto(ctx context.Context) ([]string, func(), error) {
	if err := lookPath("moto_server"); err != nil {
		return nil, nil, err
	}
	python, err := w.python(ctx, "boto3")
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	c := exec.CommandContext(ctx, "moto_server", "-H", "127.0.0.1", "-p", port)
	c.Env = w.environment()
	// The command may be a script that starts Python as its child.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		_ = c.Wait()
	}
	endpoint := "http://127.0.0.1:" + port
	if err := answer(ctx, endpoint+"/moto-api/config", `{"batch":{"use_docker":false}}`); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start moto_server: %w", err)
	}
	if err := w.discard(ctx, python, w.path("peers.py"), "queue", endpoint); err != nil {
		stop()
		return nil, nil, err
	}
	return []string{"AWS_ENDPOINT_URL=" + endpoint}, stop, nil
}

// answer posts a text to a server that is starting, until the server accepts it.
func answer(ctx context.Context, url, text string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		response, err := http.Post(url, "application/json", strings.NewReader(text))
		if err == nil {
			response.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// throttledGroup measures 1,000 submits to a service that accepts 50 calls a second, which take 20 s at best.
func (w *workshop) throttledGroup() group {
	const jobs, quota = 1000, 50
	return group{
		rounds: 1,
		rows: []row{{name: "submit/throttled", peer: "quota of 50/s", ours: figure{"submit", seconds},
			theirs: figure{"quota", seconds}, goal: atLeast(0.9)}},
		sides: []side{w.goBenchmark("submit", "./pkg/client/once", "^BenchmarkThrottled$", "1x",
			func(all map[string]map[string]float64) figures {
				return figures{seconds: {jobs / all["BenchmarkThrottled"]["submits/s"]}}
			}), constant("quota", jobs/quota)},
	}
}

// constant is a side that is a computed number of seconds.
func constant(name string, value float64) side {
	return side{name: name, run: func(context.Context) (figures, error) { return figures{seconds: {value}}, nil }}
}

// stageGroups compares inputs and outputs with the aws CLI and boto3, on one local server in memory. Unlike both,
// batchctl verifies each byte that it downloads.
func (w *workshop) stageGroups() []group {
	large, small := w.size(1<<30, 16<<20), w.size(5000, 50)
	var endpoint, python string
	open := func(ctx context.Context) (stop func(), err error) {
		if _, err := w.batchctl(); err != nil {
			return nil, err
		}
		endpoint, stop, err = w.startStore(ctx, large, small)
		return stop, err
	}
	var groups []group
	for _, what := range []string{"large", "small"} {
		for _, way := range []string{"down", "up"} {
			// transfer returns a run that moves the objects with a command. Downloads start with an empty folder.
			transfer := func(name string, command func(folder string) program) side {
				return side{name: name, run: func(ctx context.Context) (figures, error) {
					folder := w.path(what + "-" + name)
					if way == "down" {
						if err := os.RemoveAll(folder); err != nil {
							return nil, err
						}
					} else if _, err := os.Stat(folder); err != nil {
						if err := w.writeObjects(folder, what, large, small); err != nil {
							return nil, err
						}
					}
					syscall.Sync()
					p := command(folder)
					p.env = append(p.env, "AWS_ENDPOINT_URL="+endpoint)
					return w.timed(ctx, p)
				}}
			}
			batchctl := transfer("batchctl", func(folder string) program {
				document, part := map[string]any{"version": 1,
					"inputs": []map[string]string{{"from": "s3://bench/" + what + "/", "to": folder}}}, "in"
				if way == "up" {
					document, part = map[string]any{"version": 1,
						"outputs": []map[string]string{{"from": folder, "to": "s3://kept/" + what + "/"}}}, "out"
				}
				text, _ := json.Marshal(document) // of strings
				return program{env: []string{"BATCHCTL_STAGE=" + string(text)},
					args: []string{w.path("batchctl"), "stage", part}}
			})
			cli := transfer("aws", func(folder string) program {
				from, to := "s3://bench/"+what+"/", folder
				if way == "up" {
					from, to = folder, "s3://kept/"+what+"/"
				}
				return program{args: []string{"aws", "s3", "cp", "--recursive", "--quiet", from, to}}
			})
			cli.prepare = func(context.Context) error { return lookPath("aws") }
			boto := transfer("boto3", func(folder string) program {
				return program{args: []string{python, w.path("peers.py"), "s3", way, what, folder}}
			})
			boto.prepare = func(ctx context.Context) (err error) {
				python, err = w.python(ctx, "boto3")
				return err
			}
			name := "stage/" + what + "-" + way
			groups = append(groups, group{rounds: 3, open: open, sides: []side{batchctl, cli, boto}, rows: []row{
				{name: name + "/aws", peer: "aws CLI", ours: figure{"batchctl", seconds},
					theirs: figure{"aws", seconds}, goal: atLeast(1)},
				{name: name + "/boto3", peer: "boto3", ours: figure{"batchctl", seconds},
					theirs: figure{"boto3", seconds}, goal: atLeast(1)},
			}})
		}
	}
	return groups
}

// startStore starts the server of objects. It returns its URL, and a function that stops it.
func (w *workshop) startStore(ctx context.Context, large, small int) (string, func(), error) {
	store, err := w.store()
	if err != nil {
		return "", nil, err
	}
	c := exec.CommandContext(ctx, store, "-large", strconv.Itoa(large), "-small", strconv.Itoa(small))
	input, err := c.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop := func() {
		input.Close() // the server ends with its input
		_ = c.Wait()
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the server of objects: %w", err)
	}
	return "http://" + strings.TrimSpace(address), stop, nil
}

// writeObjects fills a folder with the files to upload. Each side has its own, as after a download.
func (w *workshop) writeObjects(folder, what string, large, small int) error {
	names, size := []string{"object"}, large
	if what == "small" {
		names, size = nil, 8<<10
		for i := range small {
			names = append(names, fmt.Sprintf("%02d/%04d", i%100, i))
		}
	}
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = byte(i * i >> 8)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		for left := size; left > 0 && err == nil; left -= len(block) {
			_, err = file.Write(block[:min(left, len(block))])
		}
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
