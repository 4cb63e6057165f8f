// Package uitest has the replies of batchctl's commands for a recorded workflow, for tests of the pages.
package uitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Ids of the recorded jobs.
const (
	PrepareID = "273ad2f0-651c-4ce8-b72e-58f2d99d6e91"
	ArrayID   = "dc3a100a-a650-4679-99bd-83b1e10d4f6d"
	ReportID  = "805b13f6-a991-44a8-9737-4f2f52987988"
	RunID     = "bdc3bcb5"
)

// differs is the exit status of commands that compare, if something differs.
const differs = 4

// Reply is what a command prints, and its exit status.
type Reply struct {
	Out, Err string
	Status   int
}

// Replies answers commands instead of batchctl. It is safe for concurrent use.
type Replies struct {
	// Mu guards the other members while commands run.
	Mu sync.Mutex
	// Known are the replies by command line, without the program and the target's flags.
	Known map[string]Reply
	// Before is called before each reply; nil for none.
	Before func(ctx context.Context, line string, s term.Streams)
	// Lines are the words of the commands in order, and Inputs what they read.
	Lines  [][]string
	Inputs []string
}

// Recording returns the replies of batchctl for a workflow on the local engine: a job, then an array over a matrix of
// which child 3 failed, then a job that never ran. The shares of the queue are made up.
func Recording() *Replies {
	r := &Replies{Known: map[string]Reply{}}
	for entry := range strings.SplitSeq(strings.TrimPrefix(recorded, "$ "), "\n$ ") {
		line, out, _ := strings.Cut(entry, "\n")
		r.Known[line] = Reply{Out: IndentJSON(out)}
	}
	for _, id := range []string{PrepareID, ArrayID + ":0"} {
		r.Known["explain "+id] = Reply{Err: "batchctl: nothing to explain\n", Status: 1}
	}
	for _, i := range []string{":1", ":2"} {
		for _, line := range []string{"status ", "logs "} {
			r.Known[line+ArrayID+i] = Reply{Out: strings.ReplaceAll(r.Known[line+ArrayID+":0"].Out, ArrayID+":0",
				ArrayID+i)}
		}
	}
	r.Known["status "+PrepareID+" "+ArrayID+" "+ReportID] = r.Known["status"]
	r.Known["apply . --check"] = Reply{Out: r.Known["apply . --check"].Out, Err: "1 change\n", Status: differs}
	diff := "diff " + PrepareID + " " + ReportID
	r.Known[diff] = Reply{Out: r.Known[diff].Out, Status: differs}
	r.Known["plan job.json --when"] = Reply{Out: r.Known["plan job.json --when"].Out, Status: differs}
	r.Known["plan -"] = Reply{Out: "1 job: submit\nnext: batchctl submit\n", Status: differs}
	r.Known["cost -"] = Reply{Out: "0.01 USD\n"}
	return r
}

// IndentJSON writes JSON as the commands do: with one member on each line.
func IndentJSON(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String() + "\n"
}

// Answer answers a command with these words: see source.Instead.
func (r *Replies) Answer(ctx context.Context, con *term.Console, words []string, document any) error {
	in, err := io.ReadAll(con.In)
	if err != nil {
		return err
	}
	line := strings.Join(words, " ")
	r.Mu.Lock()
	r.Lines = append(r.Lines, slices.Clone(words))
	r.Inputs = append(r.Inputs, string(in))
	found, ok := r.Known[line]
	before := r.Before
	r.Mu.Unlock()
	var out bytes.Buffer
	if before != nil {
		before(ctx, line, term.Streams{Out: &out, Err: con.Err})
	}
	if !ok {
		return exit.Fail(exit.Problem, "no job or workflow has the id or name %s", words[len(words)-1]).
			Try("list the jobs: batchctl list")
	}
	out.WriteString(found.Out)
	if out.Len() > 0 {
		if err := fill(document, out.Bytes()); err != nil {
			return fmt.Errorf("batchctl %s: %w", line, err)
		}
	}
	return failed(con, found)
}

// fill fills a document from its recorded text or JSON.
func fill(document any, text []byte) error {
	switch document := document.(type) {
	case *string:
		*document = string(text)
		return nil
	case func(client.Line) error:
		var lines []client.Line
		if err := json.Unmarshal(text, &lines); err != nil {
			return err
		}
		for _, line := range lines {
			if err := document(line); err != nil {
				return err
			}
		}
		return nil
	}
	if string(bytes.TrimSpace(text)) == "null" {
		return errors.New("a command that succeeds has a document")
	}
	return json.Unmarshal(text, document)
}

// failed prints the messages of a reply, and returns its error.
func failed(con *term.Console, r Reply) error {
	notes, message, found := strings.Cut("\n"+r.Err, "\nbatchctl: ")
	_, _ = io.WriteString(con.Err, strings.TrimPrefix(notes+"\n", "\n"))
	if !found || r.Status == 0 {
		return exit.Silent(r.Status)
	}
	message, hint, _ := strings.Cut(strings.TrimSpace(message), "\n  ") // a credential may have several lines
	f := exit.Fail(r.Status, "%s", message)
	if hint != "" {
		return f.Try("%s", strings.TrimSpace(hint))
	}
	return f
}

// Set replaces the output of a command.
func (r *Replies) Set(line, out string) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Known[line] = Reply{Out: out, Status: r.Known[line].Status}
}

// Count returns how often a command ran.
func (r *Replies) Count(line string) (n int) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	for _, words := range r.Lines {
		if strings.Join(words, " ") == line {
			n++
		}
	}
	return n
}

// WhatIfLine is the command for a proposed change.
const WhatIfLine = "forecast --set=local.maxvCpus=512 --set=local.instanceTypes+=g6e.12xlarge --set=local.type=SPOT --set=default.schedulingPolicy=fair --set=default.weightFactor=vision:0.5 --without-share=vision --spot-reclaims=0.05 --add-jobs=job.json*200 default"

// recorded are command lines and what they print.
const recorded = `$ status 273ad2f0-651c-4ce8-b72e-58f2d99d6e91
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/prepare:1","jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","jobName":"prepare","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","startedAt":1795680357976,"status":"SUCCEEDED","attempts":[{"container":{"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","exitCode":0,"logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","networkInterfaces":[],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"startedAt":1795680357976,"statusReason":"Essential container in task exited","stoppedAt":1795680357978}],"container":{"command":["sh","-c","echo preparing; echo done"],"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69"}],"exitCode":0,"image":"busybox:1.36","logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"createdAt":1795680357973,"dependsOn":[],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/273ad2f0-651c-4ce8-b72e-58f2d99d6e91","statusReason":"Essential container in task exited","stoppedAt":1795680357978,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"273ad2f0","waitedMs":3,"ranMs":2}}]
$ logs 273ad2f0-651c-4ce8-b72e-58f2d99d6e91
[{"job":"273ad2f0","time":"2026-11-26T08:05:57.973Z","text":"preparing"},{"job":"273ad2f0","time":"2026-11-26T08:05:57.973Z","text":"done"}]
$ cost 273ad2f0-651c-4ce8-b72e-58f2d99d6e91
{"target":"local","prices":{"table":"prices of 2026-07-20","date":"2026-07-20","source":"price lists","spotBetween":"June 2025's average to the price on demand"},"by":"job","rows":[{"name":"prepare 273ad2f0","jobs":1,"runs":1,"failed":0,"attempts":1,"retried":0,"seconds":0.002,"retriedSeconds":0,"failedSeconds":0,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}],"total":{"name":"total","jobs":1,"runs":1,"failed":0,"attempts":1,"retried":0,"seconds":0.002,"retriedSeconds":0,"failedSeconds":0,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}}
$ status dc3a100a-a650-4679-99bd-83b1e10d4f6d
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d","jobName":"sweep","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","arrayProperties":{"size":4,"statusSummary":{"FAILED":1,"PENDING":0,"RUNNABLE":0,"RUNNING":0,"STARTING":0,"SUBMITTED":0,"SUCCEEDED":3},"statusSummaryLastUpdatedAt":1795680357987},"attempts":[],"container":{"command":["sh","-c","if [ $AWS_BATCH_JOB_ARRAY_INDEX = 3 ]; then echo 'error: no space left on device' >&2; exit 3; fi; echo \"{\\\"error\\\": 0.$AWS_BATCH_JOB_ARRAY_INDEX}\""],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_ARRAY","value":"batchctl array 1\nmatrix 4\nname lr=MATRIX_LR\nname seed=MATRIX_SEED\nproduct 4\naxis 2\n=0.1\n=0.01\naxis 2\n=1\n=2\nend\n"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4cb44dc4-ac64-48f3-b504-996eb9f3d433"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357975,"dependsOn":[{"jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d","statusReason":"Array Child Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4cb44dc4-ac64-48f3-b504-996eb9f3d433","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"dc3a100a","tookMs":12}}]
$ explain dc3a100a-a650-4679-99bd-83b1e10d4f6d
{"job":"sweep","id":"dc3a100a-a650-4679-99bd-83b1e10d4f6d","status":"FAILED","target":"local (engine at http://127.0.0.1:40033)","verdict":{"cause":"out-of-disk","summary":"a disk on this machine was full while it ran","confidence":"medium","evidence":[{"from":"log sweep/default/e9056eab-841e-4094-90bf-79d12b7aa145","at":"2026-11-26T08:05:57Z","text":"error: no space left on device"},{"from":"DescribeJobs, job dc3a100a:3, exit code","at":"2026-11-26T08:05:57Z","text":"exit code 3"},{"from":"DescribeJobs, job dc3a100a:3, status reason","at":"2026-11-26T08:05:57Z","text":"Essential container in task exited"}],"fix":{"job":"free disk space on this machine: df -h"}}}
$ logs dc3a100a-a650-4679-99bd-83b1e10d4f6d
[{"job":"dc3a100a:0","time":"2026-11-26T08:05:57.980Z","text":"{\"error\": 0.0}"},{"job":"dc3a100a:1","time":"2026-11-26T08:05:57.980Z","text":"{\"error\": 0.1}"},{"job":"dc3a100a:2","time":"2026-11-26T08:05:57.981Z","text":"{\"error\": 0.2}"},{"job":"dc3a100a:3","time":"2026-11-26T08:05:57.985Z","text":"error: no space left on device"}]
$ cost dc3a100a-a650-4679-99bd-83b1e10d4f6d
{"target":"local","prices":{"table":"prices of 2026-07-20","date":"2026-07-20","source":"price lists","spotBetween":"June 2025's average to the price on demand"},"by":"job","rows":[{"name":"sweep dc3a100a","jobs":1,"runs":4,"failed":1,"attempts":4,"retried":0,"seconds":0.009000000000000001,"retriedSeconds":0,"failedSeconds":0.002,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}],"total":{"name":"total","jobs":1,"runs":4,"failed":1,"attempts":4,"retried":0,"seconds":0.009000000000000001,"retriedSeconds":0,"failedSeconds":0.002,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}}
$ status 805b13f6-a991-44a8-9737-4f2f52987988
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/report:1","jobId":"805b13f6-a991-44a8-9737-4f2f52987988","jobName":"report","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","attempts":[],"container":{"command":["sh","-c","printf '\\033[32mok\\033[0m\\n'"],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4813ddca-4fc7-433f-834b-b3730e19695e"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357978,"dependsOn":[{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/805b13f6-a991-44a8-9737-4f2f52987988","statusReason":"Dependent Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4813ddca-4fc7-433f-834b-b3730e19695e","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"805b13f6","waitedMs":9}}]
$ explain 805b13f6-a991-44a8-9737-4f2f52987988
{"job":"report","id":"805b13f6-a991-44a8-9737-4f2f52987988","status":"FAILED","target":"local (engine at http://127.0.0.1:40033)","verdict":{"cause":"failed-dependency","summary":"job sweep (dc3a100a), which it waited for, FAILED: a disk on this machine was full while it ran","confidence":"medium","evidence":[{"from":"DescribeJobs, job 805b13f6, status reason","at":"2026-11-26T08:05:57Z","text":"Dependent Job failed"},{"from":"DescribeJobs, job dc3a100a, status","at":"2026-11-26T08:05:57Z","text":"FAILED Array Child Job failed"},{"from":"log sweep/default/e9056eab-841e-4094-90bf-79d12b7aa145","at":"2026-11-26T08:05:57Z","text":"error: no space left on device"},{"from":"DescribeJobs, job dc3a100a:3, exit code","at":"2026-11-26T08:05:57Z","text":"exit code 3"},{"from":"DescribeJobs, job dc3a100a:3, status reason","at":"2026-11-26T08:05:57Z","text":"Essential container in task exited"}],"fix":{"job":"in job sweep: free disk space on this machine: df -h"}}}
$ logs 805b13f6-a991-44a8-9737-4f2f52987988
[]
$ status dc3a100a-a650-4679-99bd-83b1e10d4f6d:0
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:0","jobName":"sweep","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","startedAt":1795680357980,"status":"SUCCEEDED","arrayProperties":{"index":0},"attempts":[{"container":{"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","exitCode":0,"logStreamName":"sweep/default/4006f9a5-b890-43ee-8477-8031da44f0a9","networkInterfaces":[],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/4006f9a5-b890-43ee-8477-8031da44f0a9"},"startedAt":1795680357980,"statusReason":"Essential container in task exited","stoppedAt":1795680357982}],"container":{"command":["sh","-c","if [ $AWS_BATCH_JOB_ARRAY_INDEX = 3 ]; then echo 'error: no space left on device' >&2; exit 3; fi; echo \"{\\\"error\\\": 0.$AWS_BATCH_JOB_ARRAY_INDEX}\""],"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_ARRAY","value":"batchctl array 1\nmatrix 4\nname lr=MATRIX_LR\nname seed=MATRIX_SEED\nproduct 4\naxis 2\n=0.1\n=0.01\naxis 2\n=1\n=2\nend\n"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4cb44dc4-ac64-48f3-b504-996eb9f3d433"}],"exitCode":0,"image":"busybox:1.36","logStreamName":"sweep/default/4006f9a5-b890-43ee-8477-8031da44f0a9","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/4006f9a5-b890-43ee-8477-8031da44f0a9"},"createdAt":1795680357975,"dependsOn":[{"jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:0","statusReason":"Essential container in task exited","stoppedAt":1795680357982,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4cb44dc4-ac64-48f3-b504-996eb9f3d433","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"dc3a100a:0","waitedMs":5,"ranMs":2}}]
$ logs dc3a100a-a650-4679-99bd-83b1e10d4f6d:0
[{"job":"dc3a100a:0","time":"2026-11-26T08:05:57.980Z","text":"{\"error\": 0.0}"}]
$ status dc3a100a-a650-4679-99bd-83b1e10d4f6d:3
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobName":"sweep","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","startedAt":1795680357985,"status":"FAILED","arrayProperties":{"index":3},"attempts":[{"container":{"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","exitCode":3,"logStreamName":"sweep/default/e9056eab-841e-4094-90bf-79d12b7aa145","networkInterfaces":[],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/e9056eab-841e-4094-90bf-79d12b7aa145"},"startedAt":1795680357985,"statusReason":"Essential container in task exited","stoppedAt":1795680357987}],"container":{"command":["sh","-c","if [ $AWS_BATCH_JOB_ARRAY_INDEX = 3 ]; then echo 'error: no space left on device' >&2; exit 3; fi; echo \"{\\\"error\\\": 0.$AWS_BATCH_JOB_ARRAY_INDEX}\""],"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_ARRAY","value":"batchctl array 1\nmatrix 4\nname lr=MATRIX_LR\nname seed=MATRIX_SEED\nproduct 4\naxis 2\n=0.1\n=0.01\naxis 2\n=1\n=2\nend\n"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4cb44dc4-ac64-48f3-b504-996eb9f3d433"}],"exitCode":3,"image":"busybox:1.36","logStreamName":"sweep/default/e9056eab-841e-4094-90bf-79d12b7aa145","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/e9056eab-841e-4094-90bf-79d12b7aa145"},"createdAt":1795680357975,"dependsOn":[{"jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","statusReason":"Essential container in task exited","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4cb44dc4-ac64-48f3-b504-996eb9f3d433","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"dc3a100a:3","waitedMs":10,"ranMs":2}}]
$ explain dc3a100a-a650-4679-99bd-83b1e10d4f6d:3
{"job":"sweep","id":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","status":"FAILED","target":"local (engine at http://127.0.0.1:40033)","verdict":{"cause":"out-of-disk","summary":"a disk on this machine was full while it ran","confidence":"medium","evidence":[{"from":"log sweep/default/e9056eab-841e-4094-90bf-79d12b7aa145","at":"2026-11-26T08:05:57Z","text":"error: no space left on device"},{"from":"DescribeJobs, job dc3a100a:3, exit code","at":"2026-11-26T08:05:57Z","text":"exit code 3"},{"from":"DescribeJobs, job dc3a100a:3, status reason","at":"2026-11-26T08:05:57Z","text":"Essential container in task exited"}],"fix":{"job":"free disk space on this machine: df -h"}}}
$ logs dc3a100a-a650-4679-99bd-83b1e10d4f6d:3
[{"job":"dc3a100a:3","time":"2026-11-26T08:05:57.985Z","text":"error: no space left on device"}]
$ status
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/prepare:1","jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","jobName":"prepare","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","startedAt":1795680357976,"status":"SUCCEEDED","attempts":[{"container":{"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","exitCode":0,"logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","networkInterfaces":[],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"startedAt":1795680357976,"statusReason":"Essential container in task exited","stoppedAt":1795680357978}],"container":{"command":["sh","-c","echo preparing; echo done"],"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69"}],"exitCode":0,"image":"busybox:1.36","logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"createdAt":1795680357973,"dependsOn":[],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/273ad2f0-651c-4ce8-b72e-58f2d99d6e91","statusReason":"Essential container in task exited","stoppedAt":1795680357978,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"273ad2f0","waitedMs":3,"ranMs":2}},{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d","jobName":"sweep","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","arrayProperties":{"size":4,"statusSummary":{"FAILED":1,"PENDING":0,"RUNNABLE":0,"RUNNING":0,"STARTING":0,"SUBMITTED":0,"SUCCEEDED":3},"statusSummaryLastUpdatedAt":1795680357987},"attempts":[],"container":{"command":["sh","-c","if [ $AWS_BATCH_JOB_ARRAY_INDEX = 3 ]; then echo 'error: no space left on device' >&2; exit 3; fi; echo \"{\\\"error\\\": 0.$AWS_BATCH_JOB_ARRAY_INDEX}\""],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_ARRAY","value":"batchctl array 1\nmatrix 4\nname lr=MATRIX_LR\nname seed=MATRIX_SEED\nproduct 4\naxis 2\n=0.1\n=0.01\naxis 2\n=1\n=2\nend\n"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4cb44dc4-ac64-48f3-b504-996eb9f3d433"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357975,"dependsOn":[{"jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d","statusReason":"Array Child Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4cb44dc4-ac64-48f3-b504-996eb9f3d433","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"dc3a100a","tookMs":12}},{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/report:1","jobId":"805b13f6-a991-44a8-9737-4f2f52987988","jobName":"report","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","attempts":[],"container":{"command":["sh","-c","printf '\\033[32mok\\033[0m\\n'"],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4813ddca-4fc7-433f-834b-b3730e19695e"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357978,"dependsOn":[{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/805b13f6-a991-44a8-9737-4f2f52987988","statusReason":"Dependent Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4813ddca-4fc7-433f-834b-b3730e19695e","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"805b13f6","waitedMs":9}}]
$ status --submission bdc3bcb5
[{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/prepare:1","jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","jobName":"prepare","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","startedAt":1795680357976,"status":"SUCCEEDED","attempts":[{"container":{"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","exitCode":0,"logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","networkInterfaces":[],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"startedAt":1795680357976,"statusReason":"Essential container in task exited","stoppedAt":1795680357978}],"container":{"command":["sh","-c","echo preparing; echo done"],"containerInstanceArn":"arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process","environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69"}],"exitCode":0,"image":"busybox:1.36","logStreamName":"prepare/default/d51cfefc-6cc1-4a93-80cf-00f2930c72fe","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}],"taskArn":"arn:aws:ecs:local:000000000000:task/AWSBatch-local/d51cfefc-6cc1-4a93-80cf-00f2930c72fe"},"createdAt":1795680357973,"dependsOn":[],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/273ad2f0-651c-4ce8-b72e-58f2d99d6e91","statusReason":"Essential container in task exited","stoppedAt":1795680357978,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"2ef81e50-b25d-4689-a8e6-60a2f0ef9c69","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"273ad2f0","waitedMs":3,"ranMs":2}},{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d","jobName":"sweep","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","arrayProperties":{"size":4,"statusSummary":{"FAILED":1,"PENDING":0,"RUNNABLE":0,"RUNNING":0,"STARTING":0,"SUBMITTED":0,"SUCCEEDED":3},"statusSummaryLastUpdatedAt":1795680357987},"attempts":[],"container":{"command":["sh","-c","if [ $AWS_BATCH_JOB_ARRAY_INDEX = 3 ]; then echo 'error: no space left on device' >&2; exit 3; fi; echo \"{\\\"error\\\": 0.$AWS_BATCH_JOB_ARRAY_INDEX}\""],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_ARRAY","value":"batchctl array 1\nmatrix 4\nname lr=MATRIX_LR\nname seed=MATRIX_SEED\nproduct 4\naxis 2\n=0.1\n=0.01\naxis 2\n=1\n=2\nend\n"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4cb44dc4-ac64-48f3-b504-996eb9f3d433"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357975,"dependsOn":[{"jobId":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d","statusReason":"Array Child Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4cb44dc4-ac64-48f3-b504-996eb9f3d433","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"dc3a100a","tookMs":12}},{"jobDefinition":"arn:aws:batch:local:000000000000:job-definition/report:1","jobId":"805b13f6-a991-44a8-9737-4f2f52987988","jobName":"report","jobQueue":"arn:aws:batch:local:000000000000:job-queue/default","status":"FAILED","attempts":[],"container":{"command":["sh","-c","printf '\\033[32mok\\033[0m\\n'"],"environment":[{"name":"MODE","value":"fast"},{"name":"BATCHCTL_SUBMISSION_ID","value":"4813ddca-4fc7-433f-834b-b3730e19695e"}],"image":"busybox:1.36","resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"64"}]},"createdAt":1795680357978,"dependsOn":[{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d"}],"isCancelled":false,"isTerminated":false,"jobArn":"arn:aws:batch:local:000000000000:job/805b13f6-a991-44a8-9737-4f2f52987988","statusReason":"Dependent Job failed","stoppedAt":1795680357987,"tags":{"batchctl:run":"bdc3bcb5","batchctl:submission-id":"4813ddca-4fc7-433f-834b-b3730e19695e","batchctl:workflow":"calibration","team":"vision"},"timeout":{"attemptDurationSeconds":600},"batchctl":{"shortId":"805b13f6","waitedMs":9}}]
$ list --array dc3a100a-a650-4679-99bd-83b1e10d4f6d --limit 0
[{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:0","jobName":"sweep","arrayProperties":{"index":0},"container":{"exitCode":0},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:0","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357980,"status":"SUCCEEDED","statusReason":"Essential container in task exited","stoppedAt":1795680357982},{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:1","jobName":"sweep","arrayProperties":{"index":1},"container":{"exitCode":0},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:1","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357980,"status":"SUCCEEDED","statusReason":"Essential container in task exited","stoppedAt":1795680357983},{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:2","jobName":"sweep","arrayProperties":{"index":2},"container":{"exitCode":0},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:2","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357983,"status":"SUCCEEDED","statusReason":"Essential container in task exited","stoppedAt":1795680357985},{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobName":"sweep","arrayProperties":{"index":3},"container":{"exitCode":3},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357985,"status":"FAILED","statusReason":"Essential container in task exited","stoppedAt":1795680357987}]
$ list --array dc3a100a-a650-4679-99bd-83b1e10d4f6d --status FAILED --limit 0
[{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobName":"sweep","arrayProperties":{"index":3},"container":{"exitCode":3},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357985,"status":"FAILED","statusReason":"Essential container in task exited","stoppedAt":1795680357987}]
$ results dc3a100a-a650-4679-99bd-83b1e10d4f6d
[{"index":0,"lr":0.1,"seed":1,"status":"SUCCEEDED","error":0.0},{"index":1,"lr":0.1,"seed":2,"status":"SUCCEEDED","error":0.1},{"index":2,"lr":0.01,"seed":1,"status":"SUCCEEDED","error":0.2},{"index":3,"lr":0.01,"seed":2,"status":"FAILED"}]
$ cost --since 7d --by workflow
{"target":"local","prices":{"table":"prices of 2026-07-20","date":"2026-07-20","source":"price lists","spotBetween":"June 2025's average to the price on demand"},"by":"workflow","rows":[{"name":"calibration bdc3bcb5","jobs":3,"runs":6,"failed":2,"attempts":5,"retried":0,"seconds":0.011000000000000001,"retriedSeconds":0,"failedSeconds":0.002,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}],"total":{"name":"total","jobs":3,"runs":6,"failed":2,"attempts":5,"retried":0,"seconds":0.011000000000000001,"retriedSeconds":0,"failedSeconds":0.002,"cost":{"low":{"usd":0},"high":{"usd":0}},"waste":{"low":{"usd":0},"high":{"usd":0}},"alone":{"usd":0}}}
$ top
{"target":"local (engine at http://127.0.0.1:40033)","time":"2026-11-26T08:06:22.127530393Z","queues":[{"name":"default","state":"ENABLED","priority":1,"jobs":{"RUNNABLE":2,"RUNNING":1},"computeEnvironments":["local"],"computeEnvironmentDetails":[{"name":"local","state":"ENABLED","status":"VALID","statusReason":"ComputeEnvironment Healthy","type":"UNMANAGED","maxvCpus":2},{"name":"broken","state":"DISABLED","status":"INVALID","statusReason":"no role","type":"MANAGED","resources":"EC2","minvCpus":0,"desiredvCpus":1,"maxvCpus":4}],"maxvCpus":2,"queueUtilization":{"lastUpdatedAt":1795680382127,"totalCapacityUsage":[{"capacityUnit":"VCPU","quantity":1.5}],"fairshareUtilization":{"activeShareCount":2,"topCapacityUtilization":[{"shareIdentifier":"vision","capacityUsage":[{"capacityUnit":"VCPU","quantity":1}]},{"shareIdentifier":"audio","capacityUsage":[{"capacityUnit":"VCPU","quantity":0.5}]}]}},"atLeast":["RUNNABLE"],"head":{"jobId":"805b13f6-a991-44a8-9737-4f2f52987988","jobName":"report","statusReason":"waits","earliestTimeAtPosition":1795680366555}}],"jobs":[{"jobQueue":"default","job":{"jobId":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobName":"sweep","arrayProperties":{"index":3},"container":{"exitCode":3},"createdAt":1795680357975,"jobArn":"arn:aws:batch:local:000000000000:job/dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","jobDefinition":"arn:aws:batch:local:000000000000:job-definition/sweep:1","startedAt":1795680357985,"status":"RUNNING","statusReason":"Essential container in task exited","stoppedAt":1795680357987}}],"moreJobs":false,"note":"a note"}
$ apply . --check
{"steps":[{"verb":"update","kind":"job queue","name":"default","why":"changed","changes":[{"path":"priority","from":1,"to":2}]}],"unchanged":0,"invalid":[{"kind":"compute environment","name":"broken","reason":"no role"}]}
$ validate -
[{"file":"-","line":1,"column":31,"endLine":1,"endColumn":39,"severity":"error","rule":"unknown-member","message":"unknown member \"commnd\"","hint":"write \"command\"","fix":{"message":"write \"command\"","edits":[{"start":31,"end":37,"text":"command"}]}},{"file":"-","line":1,"column":9,"endLine":1,"endColumn":12,"severity":"warning","rule":"timeout-missing","message":"the job has no timeout","hint":"add a time limit"}]
$ history 273ad2f0-651c-4ce8-b72e-58f2d99d6e91 --limit 5000
[{"target":"local","job":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","attempt":2,"name":"prepare","queue":"default","definition":"prepare:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"SUCCEEDED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"usd":0.01,"usage":[{"version":1,"seconds":12.5,"cpuSeconds":20,"peakMemory":734003200,"memoryLimit":1073741824,"bytesRead":0,"bytesWritten":20971520,"gpus":[{"name":"NVIDIA L4","peakMemory":2147483648,"memory":24159191040,"utilization":0.5,"maxUtilization":0.9}],"source":"cgroup2"},{"version":1,"seconds":12.5,"container":"sidecar","cpuSeconds":1.25,"peakMemory":104857600,"memoryLimit":536870912,"source":"cgroup2"}]},{"target":"local","job":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","attempt":1,"name":"prepare","queue":"default","definition":"prepare:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"FAILED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"containerReason":"OutOfMemoryError","usage":[{"version":1,"seconds":12.5,"peakMemory":1073741824,"source":"cgroup2"}]}]
$ history dc3a100a-a650-4679-99bd-83b1e10d4f6d --limit 5000
[{"target":"local","job":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:3","attempt":1,"name":"sweep","queue":"default","definition":"sweep:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"FAILED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"exitCode":3},{"target":"local","job":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:2","attempt":1,"name":"sweep","queue":"default","definition":"sweep:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"SUCCEEDED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"cell":{"lr":"0.1","seed":"2"},"usage":[{"version":1,"seconds":12.5,"cpuSeconds":37.5,"peakMemory":314572800,"bytesRead":1048576,"bytesWritten":0,"source":"cgroup2"}]},{"target":"local","job":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:1","attempt":1,"name":"sweep","queue":"default","definition":"sweep:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"SUCCEEDED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"cell":{"lr":"0.1","seed":"1"},"usage":[{"version":1,"seconds":12.5,"cpuSeconds":25.0,"peakMemory":209715200,"bytesRead":1048576,"bytesWritten":0,"source":"cgroup2"}]},{"target":"local","job":"dc3a100a-a650-4679-99bd-83b1e10d4f6d:0","attempt":1,"name":"sweep","queue":"default","definition":"sweep:1","hash":"h1","requested":{"vcpus":2,"memoryMiB":1024},"status":"SUCCEEDED","createdAt":1795680357965,"startedAt":1795680357975,"stoppedAt":1795680370475,"cell":{"lr":"0.1","seed":"0"},"usage":[{"version":1,"seconds":12.5,"cpuSeconds":12.5,"peakMemory":104857600,"bytesRead":1048576,"bytesWritten":0,"source":"cgroup2"}]}]
$ advise --since 30d
[{"definition":"prepare","hash":"h1","queue":"default","requested":{"vcpus":4,"memoryMiB":15000},"attempts":41,"runs":40,"outOfMemory":1,"hours":40,"memoryMiB":{"runs":40,"p50":2995.2,"p95":3085.3,"max":3098.6},"cpus":{"runs":40,"p50":0.972,"p95":0.972,"max":0.972},"proposal":{"vcpus":1,"memoryMiB":3328,"bound":{"value":3300,"method":"normal"},"margin":0.07,"confidence":0.99,"saving":{"usdPerHourBefore":0.192,"usdPerHourAfter":0.048,"hours":40,"usdBefore":7.68,"usd":5.76,"places":[{"environment":"cpu","before":"m5.xlarge","after":"m5.xlarge","perInstanceBefore":1,"perInstanceAfter":4,"atOnceBefore":16,"atOnceAfter":64}]}},"notes":["1 attempt is not in the figures"],"axes":[{"name":"depth","explained":0.8,"values":[{"value":"18","runs":20,"maxMiB":900},{"value":"152","runs":20,"maxMiB":3098.6,"boundMiB":3300}]}]},{"definition":"sweep","requested":{"vcpus":1,"memoryMiB":512},"attempts":4,"runs":0,"hours":0,"why":"no measured runs"}]
$ diff 273ad2f0-651c-4ce8-b72e-58f2d99d6e91 805b13f6-a991-44a8-9737-4f2f52987988
[{"good":{"id":"273ad2f0-651c-4ce8-b72e-58f2d99d6e91","name":"prepare","status":"SUCCEEDED","exitCode":0,"attempts":2,"seconds":12.5},"bad":{"id":"805b13f6-a991-44a8-9737-4f2f52987988","name":"report","status":"FAILED","reason":"Dependent Job failed","children":{"FAILED":1}},"changes":[{"topic":"command","path":"container.command[2]","old":"echo preparing","new":"echo report","likely":true}],"same":["image","queue"],"unknown":["the image's digest"],"figures":[{"name":"peak memory","unit":"bytes","good":734003200},{"name":"CPU time","unit":"s","good":20,"bad":1}]}]
$ forecast default
{"target":"local","queue":"default","outlook":{"now":1795680000000,"until":1795701600000,"times":[1795690800000,1795701600000],"shares":[{"name":"audio","jobs":3,"waitMs":{"low":600000,"median":600000,"high":600000},"waitP50Ms":{"low":300000.0,"median":600000,"high":1200000},"waitP95Ms":{"low":1800000,"median":1800000,"high":1800000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]},{"name":"vision","jobs":37,"waitMs":{"low":1200000,"median":1200000,"high":1200000},"waitP50Ms":{"low":600000.0,"median":1200000,"high":2400000},"waitP95Ms":{"low":3600000,"median":3600000,"high":3600000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"teams":[{"name":"team-a","jobs":40,"waitMs":{"low":600000,"median":600000,"high":600000},"waitP50Ms":{"low":300000.0,"median":600000,"high":1200000},"waitP95Ms":{"low":1800000,"median":1800000,"high":1800000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"costUsd":{"low":2.5,"median":3.75,"high":5.0},"idleVcpuHours":{"low":1.5,"median":1.5,"high":1.5},"fairness":{"low":0.9,"median":0.9,"high":0.9},"unstarted":{"low":2,"median":2,"high":2}},"unknown":["which jobs come: none ended in the last day"]}
$ forecast --set=local.maxvCpus=512 --set=local.instanceTypes+=g6e.12xlarge --set=local.type=SPOT --set=default.schedulingPolicy=fair --set=default.weightFactor=vision:0.5 --without-share=vision --spot-reclaims=0.05 --add-jobs=job.json*200 default
{"target":"local","queue":"default","outlook":{"now":1795680000000,"until":1795701600000,"times":[1795690800000,1795701600000],"shares":[{"name":"audio","jobs":3,"waitMs":{"low":600000,"median":600000,"high":600000},"waitP50Ms":{"low":300000.0,"median":600000,"high":1200000},"waitP95Ms":{"low":1800000,"median":1800000,"high":1800000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]},{"name":"vision","jobs":37,"waitMs":{"low":1200000,"median":1200000,"high":1200000},"waitP50Ms":{"low":600000.0,"median":1200000,"high":2400000},"waitP95Ms":{"low":3600000,"median":3600000,"high":3600000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"teams":[{"name":"team-a","jobs":40,"waitMs":{"low":600000,"median":600000,"high":600000},"waitP50Ms":{"low":300000.0,"median":600000,"high":1200000},"waitP95Ms":{"low":1800000,"median":1800000,"high":1800000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"costUsd":{"low":2.5,"median":3.75,"high":5.0},"idleVcpuHours":{"low":1.5,"median":1.5,"high":1.5},"fairness":{"low":0.9,"median":0.9,"high":0.9},"unstarted":{"low":2,"median":2,"high":2}},"proposed":{"now":1795680000000,"until":1795701600000,"times":[1795690800000,1795701600000],"shares":[{"name":"audio","jobs":3,"waitMs":{"low":60000,"median":60000,"high":60000},"waitP50Ms":{"low":30000.0,"median":60000,"high":120000},"waitP95Ms":{"low":180000,"median":180000,"high":180000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]},{"name":"vision","jobs":37,"waitMs":{"low":120000,"median":120000,"high":120000},"waitP50Ms":{"low":60000.0,"median":120000,"high":240000},"waitP95Ms":{"low":360000,"median":360000,"high":360000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":5.0,"median":5.0,"high":5.0},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"teams":[{"name":"team-a","jobs":40,"waitMs":{"low":60000,"median":60000,"high":60000},"waitP50Ms":{"low":30000.0,"median":60000,"high":120000},"waitP95Ms":{"low":180000,"median":180000,"high":180000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"costUsd":{"low":5.0,"median":7.5,"high":10.0},"idleVcpuHours":{"low":1.5,"median":1.5,"high":1.5},"fairness":{"low":0.9,"median":0.9,"high":0.9},"unstarted":{"low":2,"median":2,"high":2}},"patch":{"computeEnvironments":[{"computeEnvironmentName":"local","computeResources":{"maxvCpus":512,"type":"SPOT"}}]},"platformPatch":{"queues":{"default":{"jobQueue":"default","computeEnvironments":[{"computeEnvironment":"local","type":"SPOT","maxvCpus":512}]}}},"costsOthers":[{"share":"vision","waitMs":720000}],"unknown":["which jobs come: none ended in the last day"]}
$ forecast --accuracy
[{"queue":"audio","forecasts":40,"open":0,"coverage":0.825,"biasMs":-12000,"stretch":1,"poor":false},{"queue":"default","forecasts":40,"open":3,"coverage":0.55,"biasMs":240000,"stretch":4,"poor":true},{"queue":"new","forecasts":0,"open":2,"coverage":0,"biasMs":0,"stretch":1,"poor":false}]
$ forecast --accuracy default
[{"queue":"default","forecasts":40,"open":3,"coverage":0.55,"biasMs":240000,"stretch":4,"poor":true}]
$ plan job.json --when
{"jobs":[],"when":[{"queue":"default","now":1795680000000,"start":{"low":1795683600000,"median":1795686000000,"high":1795689000000},"behind":[{"share":"vision","jobs":37}],"sources":{"definition":31,"queue":6},"unknown":["which jobs come later"],"larger":{"environment":"local","maxvCpus":512,"start":{"low":1795680000000,"median":1795680020000,"high":1795680040000},"hourUsd":12}}]}
$ forecast --replay=history --max-wait=30m default
{"target":"local","trace":"history","jobs":120,"skipped":{"no duration":3},"waitedMs":[60000,1200000],"maxWaitMs":1800000,"tried":23,"sets":[{"name":"local maxvCpus 64 with t3a","maxvCpus":64,"outlook":{"now":1795680000000,"until":1795701600000,"times":[1795690800000,1795701600000],"shares":[{"name":"audio","jobs":3,"waitMs":{"low":60000,"median":60000,"high":60000},"waitP50Ms":{"low":30000.0,"median":60000,"high":120000},"waitP95Ms":{"low":180000,"median":180000,"high":180000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]},{"name":"vision","jobs":37,"waitMs":{"low":120000,"median":120000,"high":120000},"waitP50Ms":{"low":60000.0,"median":120000,"high":240000},"waitP95Ms":{"low":360000,"median":360000,"high":360000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"teams":[{"name":"team-a","jobs":40,"waitMs":{"low":60000,"median":60000,"high":60000},"waitP50Ms":{"low":30000.0,"median":60000,"high":120000},"waitP95Ms":{"low":180000,"median":180000,"high":180000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":1.25,"median":1.25,"high":1.25},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"costUsd":{"low":2.5,"median":3.75,"high":5.0},"idleVcpuHours":{"low":1.5,"median":1.5,"high":1.5},"fairness":{"low":0.9,"median":0.9,"high":0.9},"unstarted":{"low":2,"median":2,"high":2}},"waitP95Ms":1200000,"keepsLimit":true},{"name":"the present vCPUs","maxvCpus":128,"outlook":{"now":1795680000000,"until":1795701600000,"times":[1795690800000,1795701600000],"shares":[{"name":"audio","jobs":3,"waitMs":{"low":30000,"median":30000,"high":30000},"waitP50Ms":{"low":15000.0,"median":30000,"high":60000},"waitP95Ms":{"low":90000,"median":90000,"high":90000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]},{"name":"vision","jobs":37,"waitMs":{"low":60000,"median":60000,"high":60000},"waitP50Ms":{"low":30000.0,"median":60000,"high":120000},"waitP95Ms":{"low":180000,"median":180000,"high":180000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":5.0,"median":5.0,"high":5.0},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"teams":[{"name":"team-a","jobs":40,"waitMs":{"low":30000,"median":30000,"high":30000},"waitP50Ms":{"low":15000.0,"median":30000,"high":60000},"waitP95Ms":{"low":90000,"median":90000,"high":90000},"vcpuHours":{"low":12.5,"median":12.5,"high":12.5},"costUsd":{"low":2.5,"median":2.5,"high":2.5},"usedVcpus":[{"low":0,"median":1,"high":2},{"low":1,"median":2,"high":4}]}],"costUsd":{"low":5.0,"median":7.5,"high":10.0},"idleVcpuHours":{"low":1.5,"median":1.5,"high":1.5},"fairness":{"low":0.9,"median":0.9,"high":0.9},"unstarted":{"low":2,"median":2,"high":2}},"waitP95Ms":600000,"keepsLimit":true}],"patch":{"computeEnvironments":[{"computeEnvironmentName":"local","computeResources":{"maxvCpus":64}}]},"platformPatch":{"queues":{"cpu":{"jobQueue":"default","computeEnvironments":[{"computeEnvironment":"local","type":"EC2","maxvCpus":64}]}}}}
`
