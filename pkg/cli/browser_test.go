package cli_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// screensEnv is the environment variable that names a directory for the screenshots of TestBrowser, for people to see.
	screensEnv = "BATCHCTL_SCREENSHOTS"
	// journeyEnv is the environment variable with a regular expression: TestBrowser makes only the journeys that match,
	// and compares no screenshots.
	journeyEnv = "BATCHCTL_JOURNEY"
)

// TestBrowser uses the pages of batchctl ui as a person does, in Chromium: testdata/browser/journeys.js describes the
// journeys. It checks each page with axe, in both themes, and compares screenshots at three widths with the recorded
// ones. -update records them again.
func TestBrowser(t *testing.T) {
	testtool.Need(t, "chromium", "node")
	testtool.Works(t, "node", "-e", "require('playwright-core'); require('axe-core')")
	screens := t.TempDir()
	local := newBrowserUser(t)
	cloud := newUser(t, newManyJobs().serve(t).URL)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{
		"chromium": chromium, "screens": screens, "seen": os.Getenv(screensEnv), "journey": os.Getenv(journeyEnv), "work": local.dir,
		"local": local.opens("--allow-changes"), "readOnly": local.opens(), "aws": cloud.opens("--target", "aws"), "account": local.asAccount().opens(),
		"array": manyArray, "hostile": hostileIDs, "copy": filepath.Join(local.dir, "copy", "index.html"),
	})
	if err != nil {
		t.Fatal(err)
	}
	journeys := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "browser", "journeys.js"), string(input))
	journeys.Env = local.environ
	var failed bytes.Buffer
	journeys.Stderr = &failed
	out, err := journeys.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := journeys.Start(); err != nil {
		t.Fatal(err)
	}
	taken, fonts := map[string]screen{}, ""
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<22)
	for scanner.Scan() {
		var said struct {
			Journey, Error, Note string
			Seconds              float64
			Screen, Fonts        string
		}
		if err := json.Unmarshal(scanner.Bytes(), &said); err != nil {
			t.Errorf("journeys.js printed %q", scanner.Text())
			continue
		}
		switch {
		case said.Journey != "":
			t.Run(said.Journey, func(t *testing.T) {
				t.Logf("%.1f s%s", said.Seconds, said.Note)
				if said.Error != "" {
					t.Error(said.Error)
				}
			})
		case said.Screen != "":
			if taken[said.Screen], err = readScreen(filepath.Join(screens, said.Screen+".png")); err != nil {
				t.Error(err)
			}
		default:
			fonts = said.Fonts
		}
	}
	if err := journeys.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &failed)
	}
	if os.Getenv(journeyEnv) == "" && !(t.Failed() && golden.Updating()) {
		t.Run("screens", func(t *testing.T) { compareScreens(t, taken, fonts) })
	}
}

// opened is a server of pages.
type opened struct {
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// opens starts batchctl ui until the test ends.
func (u *user) opens(flags ...string) opened {
	u.t.Helper()
	server := exec.Command("batchctl", append([]string{"ui", "--no-open"}, flags...)...)
	server.Dir, server.Env = u.dir, u.environ
	var said bytes.Buffer // read once the server has ended
	server.Stderr = &said
	out, err := server.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil && server.ProcessState.ExitCode() != 130 {
			u.t.Errorf("batchctl ui: %v\n%s", err, &said)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		u.t.Fatal(err)
	}
	return opened{strings.TrimSpace(address), server.Process.Pid}
}

// newBrowserUser returns a user of the local engine with the jobs and files that the journeys need.
func newBrowserUser(t *testing.T) *user {
	t.Helper()
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=local", "TZ=UTC")
	u.dir = filepath.Join(u.dir, "work")
	if err := os.Mkdir(u.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.types(0, "serve --stop") })
	for name, text := range map[string]string{
		"batchctl.json": `{
  "targets": { "local": { "vcpus": 8, "memory": "8 GiB" } },
  "queues": { "cpu": { "jobQueue": "cpu-job-queue" } },
  "policy": { "owner": "the platform team", "requiredTags": ["team"], "maxTimeout": "24h", "maxvCpus": 8 }
}`,
		"queues.json": `{ "jobQueues": [
  { "jobQueueName": "cpu-job-queue", "state": "ENABLED", "priority": 7, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "local" }] },
  { "jobQueueName": "night", "state": "ENABLED", "priority": 1, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "local" }] }
] }`,
		"calibration.json": `{ "name": "calibration", ` + browserDefaults + `, "jobs": [
  { "name": "prepare", "command": ["sh", "-c", "echo preparing; sleep 1; echo done"] },
  { "name": "sweep", "array": { "matrix": { "lr": ["0.1", "0.01", "0.001"], "seed": ["1", "2", "3", "4"] } }, "dependsOn": ["prepare"],
    "command": ["sh", "-c", "sleep 1; if [ $AWS_BATCH_JOB_ARRAY_INDEX = 5 ]; then echo 'write model: No space left on device' >&2; exit 3; fi; echo \"{\\\"accuracy\\\": 0.$((90 - AWS_BATCH_JOB_ARRAY_INDEX)), \\\"loss\\\": $AWS_BATCH_JOB_ARRAY_INDEX}\""] },
  { "name": "report", "command": ["sh", "-c", "echo report"], "dependsOn": ["sweep"] }
] }`,
		"pipeline.json": `{ "name": "pipeline", ` + browserDefaults + `, "jobs": [
  { "name": "fetch", "command": ["sh", "-c", "while [ ! -e '` + filepath.ToSlash(u.dir) + `/gate' ]; do sleep 0.1; done"] },
  { "name": "convert", "command": ["true"], "dependsOn": ["fetch"] }, { "name": "index", "command": ["true"], "dependsOn": ["fetch"] },
  { "name": "publish", "command": ["true"], "dependsOn": ["convert", "index"] }
] }`,
		"train.json": `{ "name": "train", ` + browserJob + `,
  "command": ["sh", "-c", "i=0; while :; do i=$((i+1)); echo \"step $i loss 0.$i\"; sleep 0.2; done"], "environment": { "LOG_LEVEL": "debug", "API_TOKEN": "ghp_abcdefghijklmnopqrstuvwxyz0123456789" } }`,
		"hold.json":  `{ "name": "hold", ` + browserJob + `, "command": ["sleep", "600"] }`,
		"burst.json": `{ "name": "burst", ` + browserJob + `, "command": ["sh", "-c", "sleep 2; seq 60000"] }`,
		// The log has markup, colours, controls that turn text around, NULs, and a line of 10 MB.
		"hostile.json": `{ "name": "hostile", "image": "public.ecr.aws/docker/library/busybox:1.36", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "10m",
  "tags": { "team": "x\"><script>pwned(11)</script>" }, "environment": { "MARKUP": "\"><script>pwned(12)</script>", "TURNED": "a\u202eb" },
  "command": ["sh", "-c", "printf '<img src=x onerror=pwned(13)>\\n</script><script>pwned(14)</script>\\n\\033[31mred\\033[0m \\033[1;44mbold on blue\\033[0m\\n'; printf 'user\\342\\200\\256txt.exe\\n'; printf 'a\\000b\\n'; head -c 10000000 /dev/zero | tr '\\000' x; echo; echo last line"] }`,
		"hostile-results.json": `{ "name": "hostile-results", ` + browserJob + `, "array": { "size": 2 },
  "command": ["sh", "-c", "echo '{\"<img src=x onerror=pwned(15)>\": 1, \"score\": 2, \"text\": \"</script><script>pwned(16)</script>\"}'"] }`,
	} {
		u.write(name, text)
	}
	u.types(1, "submit calibration.json --wait")
	u.types(0, "ui --export copy calibration")
	u.types(0, "submit hostile.json hostile-results.json --wait")
	u.types(0, "submit train.json")
	u.types(0, "submit pipeline.json")
	u.forecastPoorly("default")
	return u
}

// forecastPoorly records 40 forecasts for a queue of which 22 were right.
func (u *user) forecastPoorly(queue string) {
	u.t.Helper()
	f, err := os.OpenFile(filepath.Join(filepath.Dir(u.dir), "state", "forecasts.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		u.t.Fatal(err)
	}
	for i := range 40 {
		p := forecast.Prediction{Target: "local", Queue: queue, Job: fmt.Sprintf("cccccccc-0000-4000-8000-%012d", i), Made: manyBegan, Start: forecast.Interval{Low: manyBegan + 60_000, Median: manyBegan + 120_000, High: manyBegan + 180_000}}
		p.Started = p.Start.High
		if i >= 22 {
			p.Started += 240_000
		}
		if err := json.NewEncoder(f).Encode(p); err != nil {
			u.t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		u.t.Fatal(err)
	}
}

// asAccount returns a user to whom the local engine is an account, whose environments scale.
func (u *user) asAccount() *user {
	u.t.Helper()
	other := &user{u.t, u.dir, append(slices.Clone(u.environ), "BATCHCTL_TARGET=aws", "BATCHCTL_STATE_DIR="+u.t.TempDir())}
	out, _ := u.types(0, "env")
	for line := range strings.Lines(out) {
		if set, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			other.environ = append(other.environ, set)
		}
	}
	return other
}

const (
	browserDefaults = `"defaults": { "image": "public.ecr.aws/docker/library/busybox:1.36", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "10m", "tags": { "team": "vision" } }`
	browserJob      = `"image": "public.ecr.aws/docker/library/busybox:1.36", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "10m", "tags": { "team": "nlp" }`
)

// The jobs of manyJobs.
const (
	manyCount    = 100_000
	manyChildren = 10_000
	manyPage     = 1000 // of ListJobs on AWS
	manyArray    = "aaaaaaaa-0000-4000-8000-000000000000"
	manyBegan    = 1_767_225_600_000 // 2026-01-01
	manyARN      = "arn:aws:batch:us-east-1:123456789012:"
	pwnedQueue   = `"><img src=x onerror=pwned(1)>`
)

// hostileIDs are the ids of jobs whose texts try to become markup: an endpoint can answer anything.
var hostileIDs = []string{"bbbbbbbb-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002", `x" onmouseover="pwned(2)`, "../../actions/stop"}

// manyJobs is an AWS Batch API with 100,000 jobs, an array of 10,000 children, and hostile texts.
type manyJobs struct {
	byStatus map[string]map[types.JobStatus][]types.JobSummary // by queue, or by array
	byID     map[string]types.JobDetail
}

func newManyJobs() *manyJobs {
	m := &manyJobs{byStatus: map[string]map[types.JobStatus][]types.JobSummary{"cpu": {}, pwnedQueue: {}, manyArray: {}}, byID: map[string]types.JobDetail{}}
	for i := range manyCount {
		status := types.JobStatusSucceeded
		switch i % 100 {
		case 3, 57:
			status = types.JobStatusFailed
		case 98:
			status = types.JobStatusRunning
		case 99:
			status = types.JobStatusRunnable
		}
		m.add("cpu", types.JobDetail{JobId: aws.String(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)), JobName: aws.String(fmt.Sprintf("train-%05d", i)), Status: status}, i)
	}
	m.add("cpu", types.JobDetail{JobId: aws.String(manyArray), JobName: aws.String("grid"), Status: types.JobStatusRunning, ArrayProperties: &types.ArrayPropertiesDetail{
		Size: aws.Int32(manyChildren), StatusSummary: map[string]int32{"SUCCEEDED": 8000, "FAILED": 500, "RUNNING": 500, "RUNNABLE": 1000}}}, manyCount)
	statuses := slices.Concat(slices.Repeat([]types.JobStatus{types.JobStatusSucceeded}, 16), []types.JobStatus{types.JobStatusFailed, types.JobStatusRunning, types.JobStatusRunnable, types.JobStatusRunnable})
	for i := range manyChildren {
		m.add(manyArray, types.JobDetail{JobId: aws.String(batch.ChildID(manyArray, i)), JobName: aws.String("grid"), Status: statuses[i*7%len(statuses)],
			ArrayProperties: &types.ArrayPropertiesDetail{Index: aws.Int32(int32(i))}}, i)
	}
	const markup = `<img src=x onerror=pwned(3)></script><script>pwned(4)</script>`
	for i, id := range hostileIDs {
		m.add(pwnedQueue, types.JobDetail{JobId: &id, JobName: aws.String([]string{markup, "user\u202etxt.exe", `javascript:pwned(5)`, "\x1b[31mred\u0000"}[i]), Status: types.JobStatusFailed,
			StatusReason: aws.String(markup + "\u2066"), Tags: map[string]string{markup: markup, "batchctl:workflow": markup},
			Container: &types.ContainerDetail{Command: []string{"echo", markup}, ExitCode: aws.Int32(1), Reason: aws.String(markup), LogStreamName: aws.String("hostile"),
				Environment:          []types.KeyValuePair{{Name: aws.String(markup), Value: aws.String(markup + "\u202e")}},
				ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String(markup)}}},
			Attempts: []types.AttemptDetail{{StartedAt: aws.Int64(manyBegan + 1000), StoppedAt: aws.Int64(manyBegan + 2000), StatusReason: aws.String(markup),
				Container: &types.AttemptContainerDetail{ExitCode: aws.Int32(1), Reason: aws.String(markup), LogStreamName: aws.String("hostile"), ContainerInstanceArn: aws.String("x/" + markup)}}}}, i)
	}
	return m
}

// add adds a job of a queue, or a child of an array.
func (m *manyJobs) add(to string, d types.JobDetail, i int) {
	queue := "cpu" // also of an array's children
	if to == pwnedQueue {
		queue = pwnedQueue
	}
	d.JobArn, d.JobQueue, d.JobDefinition = aws.String(manyARN+"job/"+*d.JobId), aws.String(manyARN+"job-queue/"+queue), aws.String(manyARN+"job-definition/train:3")
	d.CreatedAt = aws.Int64(manyBegan + int64(i)*1000)
	if d.Status != types.JobStatusRunnable {
		d.StartedAt = aws.Int64(*d.CreatedAt + 500)
	}
	if batch.HasEnded(d.Status) {
		d.StoppedAt = aws.Int64(*d.StartedAt + int64(i%97)*1000)
	}
	s := types.JobSummary{JobArn: d.JobArn, JobId: d.JobId, JobName: d.JobName, Status: d.Status, StatusReason: d.StatusReason, JobDefinition: d.JobDefinition,
		CreatedAt: d.CreatedAt, StartedAt: d.StartedAt, StoppedAt: d.StoppedAt}
	if a := d.ArrayProperties; a != nil {
		s.ArrayProperties = &types.ArrayPropertiesSummary{Size: a.Size, Index: a.Index, StatusSummary: a.StatusSummary}
	}
	m.byID[*d.JobId] = d
	m.byStatus[to][d.Status] = append(m.byStatus[to][d.Status], s)
}

// serve answers until the test ends.
func (m *manyJobs) serve(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		operation, ok := wire.Operation(r.Method, r.URL.Path)
		if !ok {
			operation, _ = wire.LogsOperation(r.Header.Get("X-Amz-Target"))
		}
		out, err := m.answer(operation, body)
		if err != nil {
			err = wire.WriteError(w, err)
		} else {
			err = wire.WriteOutput(w, out)
		}
		_ = err // a client that has left needs no answer
	}))
	t.Cleanup(server.Close)
	return server
}

// answer returns the output of an operation.
func (m *manyJobs) answer(operation string, body []byte) (any, error) {
	switch operation {
	case "DescribeJobQueues":
		var out awsbatch.DescribeJobQueuesOutput
		for i, name := range []string{"cpu", pwnedQueue} {
			out.JobQueues = append(out.JobQueues, types.JobQueueDetail{JobQueueName: &name, JobQueueArn: aws.String(manyARN + "job-queue/" + name), State: types.JQStateEnabled, Status: types.JQStatusValid,
				Priority: aws.Int32(int32(10 - i)), ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String(manyARN + "compute-environment/machines")}}})
		}
		return out, nil
	case "DescribeComputeEnvironments":
		return awsbatch.DescribeComputeEnvironmentsOutput{ComputeEnvironments: []types.ComputeEnvironmentDetail{{ComputeEnvironmentName: aws.String("machines"),
			ComputeEnvironmentArn: aws.String(manyARN + "compute-environment/machines"), Type: types.CETypeManaged, State: types.CEStateEnabled, Status: types.CEStatusInvalid,
			StatusReason: aws.String("CLIENT_ERROR - <b onclick=pwned(6)>not authorized</b>\u202e"), ContainerOrchestrationType: types.OrchestrationTypeEcs,
			ComputeResources: &types.ComputeResource{Type: types.CRTypeEc2, MinvCpus: aws.Int32(0), DesiredvCpus: aws.Int32(96), MaxvCpus: aws.Int32(256), InstanceTypes: []string{"m5.large"}}}}}, nil
	case "GetJobQueueSnapshot":
		used := func(share string, n float64) types.FairshareCapacityUtilization {
			return types.FairshareCapacityUtilization{ShareIdentifier: &share, CapacityUsage: []types.FairshareCapacityUsage{{CapacityUnit: aws.String("VCPU"), Quantity: &n}}}
		}
		return awsbatch.GetJobQueueSnapshotOutput{QueueUtilization: &types.QueueSnapshotUtilizationDetail{LastUpdatedAt: aws.Int64(manyBegan),
			TotalCapacityUsage: []types.QueueSnapshotCapacityUsage{{CapacityUnit: aws.String("VCPU"), Quantity: aws.Float64(96)}},
			FairshareUtilization: &types.FairshareUtilizationDetail{ActiveShareCount: aws.Int64(3), TopCapacityUtilization: []types.FairshareCapacityUtilization{
				used("vision", 60), used("nlp", 32), used("<img src=x onerror=pwned(7)>", 4)}}}}, nil
	case "ListJobs":
		var in awsbatch.ListJobsInput
		if err := wire.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		return m.list(in), nil
	case "DescribeJobs":
		var in awsbatch.DescribeJobsInput
		if err := wire.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		var out awsbatch.DescribeJobsOutput
		for _, id := range in.Jobs {
			if d, ok := m.byID[strings.TrimPrefix(id, manyARN+"job/")]; ok {
				out.Jobs = append(out.Jobs, d)
			}
		}
		return out, nil
	case "GetLogEvents":
		var in wire.GetLogEventsInput
		if err := wire.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		end := aws.String("end")
		if aws.ToString(in.NextToken) != "" {
			return wire.GetLogEventsOutput{NextBackwardToken: in.NextToken, NextForwardToken: in.NextToken}, nil
		}
		return wire.GetLogEventsOutput{Events: []wire.OutputLogEvent{{Timestamp: aws.Int64(manyBegan), IngestionTime: aws.Int64(manyBegan),
			Message: aws.String("<img src=x onerror=pwned(8)></script><script>pwned(9)</script> \u202eturned \x1b[31mred")}}, NextBackwardToken: end, NextForwardToken: end}, nil
	}
	return nil, &wire.Fault{Type: "AccessDeniedException", Status: http.StatusForbidden, Message: "not authorized"}
}

// list returns a page of ListJobs, with the filters that batchctl uses.
func (m *manyJobs) list(in awsbatch.ListJobsInput) awsbatch.ListJobsOutput {
	var all []types.JobSummary
	of := m.byStatus[cmp.Or(aws.ToString(in.ArrayJobId), batch.Name(aws.ToString(in.JobQueue)))]
	switch {
	case len(in.Filters) == 0:
		all = of[cmp.Or(in.JobStatus, types.JobStatusRunning)]
	default: // the status does not apply
		for _, status := range slices.Sorted(maps.Keys(of)) {
			for _, job := range of[status] {
				prefix, isPrefix := strings.CutSuffix(in.Filters[0].Values[0], "*")
				if *in.Filters[0].Name == "JOB_NAME" && (*job.JobName == prefix || isPrefix && strings.HasPrefix(*job.JobName, prefix)) {
					all = append(all, job)
				}
			}
		}
	}
	from, _ := strconv.Atoi(aws.ToString(in.NextToken)) // the first page has no token
	end := min(len(all), from+manyPage)
	out := awsbatch.ListJobsOutput{JobSummaryList: all[from:end]}
	if end < len(all) {
		out.NextToken = aws.String(strconv.Itoa(end))
	}
	return out
}

// block is the width and height of the squares of a screenshot that are compared, in pixels.
const block = 24

// screen is a screenshot as squares: brightness, and two values for colour, from 0 to 255, row by row.
type screen struct {
	columns int
	squares []byte
}

// readScreen reads a screenshot.
func readScreen(file string) (screen, error) {
	f, err := os.Open(file)
	if err != nil {
		return screen{}, err
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		return screen{}, fmt.Errorf("%s: %w", file, err)
	}
	size := img.Bounds().Size()
	s := screen{columns: (size.X + block - 1) / block}
	for y := 0; y < size.Y; y += block {
		for x := 0; x < size.X; x += block {
			s.squares = append(s.squares, square(img, x, y)...)
		}
	}
	return s, nil
}

// square returns the mean brightness and colour of a square.
func square(img image.Image, left, top int) []byte {
	var r, g, b, n uint64
	for y := top; y < min(top+block, img.Bounds().Max.Y); y++ {
		for x := left; x < min(left+block, img.Bounds().Max.X); x++ {
			red, green, blue, _ := img.At(x, y).RGBA()
			r, g, b, n = r+uint64(red>>8), g+uint64(green>>8), b+uint64(blue>>8), n+1
		}
	}
	red, green, blue := int(r/n), int(g/n), int(b/n)
	// Steps of 4 compress better and are below the tolerance.
	return []byte{byte((red + 2*green + blue) / 4 &^ 3), byte((128 + (red-green)/2) &^ 3), byte((128 + (blue-green)/2) &^ 3)}
}

// text returns the record of a screen: the columns, and the compressed squares.
func (s screen) text() string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, _ = w.Write(s.squares) // a buffer cannot fail
		_ = w.Close()
	}
	return strconv.Itoa(s.columns) + " " + base64.StdEncoding.EncodeToString(b.Bytes())
}

// parseScreen is the opposite of text.
func parseScreen(text string) (screen, error) {
	columns, squares, _ := strings.Cut(text, " ")
	packed, err := base64.StdEncoding.DecodeString(squares)
	if err != nil {
		return screen{}, err
	}
	s := screen{}
	if s.columns, err = strconv.Atoi(columns); err != nil {
		return screen{}, err
	}
	s.squares, err = io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	return s, err
}

const (
	// squareTolerance is how much a value of a square may differ, and screenTolerance the part of a screen's squares that
	// may differ more.
	squareTolerance = 20
	screenTolerance = 0.04
)

// differs returns the part of the squares that differ, 1 for screens of different shapes.
func (s screen) differs(other screen) float64 {
	if s.columns != other.columns || len(s.squares) == 0 {
		return 1
	}
	long, short := s.squares, other.squares
	if len(long) < len(short) {
		long, short = short, long
	}
	different := (len(long) - len(short)) / 3
	for i := 0; i+2 < len(short); i += 3 {
		for n := i; n < i+3; n++ {
			if d := int(long[n]) - int(short[n]); d > squareTolerance || -d > squareTolerance {
				different++
				break
			}
		}
	}
	return float64(different) / float64(len(long)/3)
}

// TestScreenDiffers checks that a change of a part of a page is found, and noise is not.
func TestScreenDiffers(t *testing.T) {
	plain := screen{10, bytes.Repeat([]byte{240, 128, 128}, 100)}
	noisy, changed := screen{10, bytes.Clone(plain.squares)}, screen{10, bytes.Clone(plain.squares)}
	for i := range 100 {
		noisy.squares[3*i] -= 12
	}
	for i := range 5 {
		changed.squares[3*i+1] += 40
	}
	again, err := parseScreen(changed.text())
	if err != nil || again.differs(changed) != 0 {
		t.Errorf("a recorded screen differs from itself: %v", err)
	}
	for _, c := range []struct {
		name  string
		other screen
		want  float64
	}{{"noise", noisy, 0}, {"five squares", again, 0.05}, {"half as long", screen{10, plain.squares[:150]}, 0.5}, {"another width", screen{5, plain.squares}, 1}} {
		if got := plain.differs(c.other); got != c.want {
			t.Errorf("%s: %v differ, want %v", c.name, got, c.want)
		}
	}
}

// compareScreens compares the screenshots with the recorded ones. Other fonts need other screenshots, so the record
// has the widths of a text, which depend on them.
func compareScreens(t *testing.T, taken map[string]screen, fonts string) {
	t.Helper()
	file := filepath.Join("testdata", "browser", "screens.json")
	if golden.Updating() {
		record := map[string]string{"fonts": fonts}
		for name, s := range taken {
			record[name] = s.text()
		}
		text, err := json.MarshalIndent(record, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]string
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	if record["fonts"] != fonts {
		testtool.Missing(t, "Chromium uses other fonts than those of the recorded screenshots (%s, recorded %s)", fonts, record["fonts"])
	}
	delete(record, "fonts")
	for _, name := range slices.Sorted(maps.Keys(record)) {
		want, err := parseScreen(record[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, ok := taken[name]
		if !ok {
			t.Errorf("%s: no screenshot was taken", name)
			continue
		}
		delete(taken, name)
		if part := got.differs(want); part > screenTolerance {
			t.Errorf("%s: %.0f %% of the page differ from the recorded screenshot; see it with %s=DIRECTORY, and record it with -update", name, 100*part, screensEnv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		t.Errorf("%s: no screenshot is recorded; record it with -update", name)
	}
}
