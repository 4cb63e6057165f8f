package results

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// transfersAtOnce is the number of outputs that are listed or fetched at the same
// time.
const transfersAtOnce = 8

// jobOutput is one output of a job or child, with its location.
type jobOutput struct {
	job   string // its name
	index int    // of a child; -1 for a job that is not a child
	stage.Output
	// url is the expanded To; local is where --fetch writes it.
	url, local string
	// own reports that Local contains the child's index or id, so that children do not
	// overwrite each other.
	own bool
	// at is the URL in the form that Download needs for what was found, as a file or folder.
	at    string
	found []objects.Found
}

// OutputRow is one file of an output in the JSON output.
type OutputRow struct {
	Job      string    `json:"job"`             // name of the job
	Index    *int      `json:"index,omitempty"` // of a child
	Name     string    `json:"name"`            // relative to the output
	Size     int64     `json:"size"`            // in bytes
	Modified time.Time `json:"lastModified"`
	URL      string    `json:"url"`
	// Local is the path that --fetch wrote.
	Local string `json:"local,omitempty"`
}

// printOutputs is batchctl results --outputs and --fetch: it lists the files that jobs uploaded, or downloads them.
func printOutputs(ctx context.Context, con *term.Console, o commandOptions) error {
	if o.Format != "text" && o.Format != "json" {
		return exit.Usage("--outputs and --fetch print only text or json").
			Try("batchctl results %s --outputs --json", strings.Join(o.Args, " "))
	}
	for _, flag := range []string{"to", "force"} {
		if o.IsSet(flag) && !o.Fetch {
			return exit.Usage("--%s works only with --fetch", flag).Try("batchctl results JOB --fetch --%s", flag)
		}
	}
	call, err := jobs.OpenJobs(ctx, con, o.Options.Options, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	outputs, err := outputsOf(ctx, call)
	if err != nil {
		return err
	}
	if len(outputs) == 0 {
		return exit.Fail(exit.NotDone, "the jobs have no outputs").
			Try("add them to the job file: \"outputs\": [{ \"from\": \"/out\", \"to\": \"s3://bucket/${AWS_BATCH_JOB_ID}/\" }]")
	}
	store := storeOf(con, call.Target)
	// Download then fails for a local file that differs, and accepts one with the
	// same content.
	store.NoReplace = !o.Force
	if err := store.find(ctx, outputs); err != nil {
		return err
	}
	if !o.Fetch {
		return writeOutputs(con, call.Format, outputs)
	}
	if err := placeOutputs(outputs, o.To); err != nil {
		return err
	}
	fetchErr := fetch(ctx, con, store, outputs)
	if call.Format == "json" {
		return errors.Join(writeOutputs(con, call.Format, outputs), fetchErr)
	}
	return fetchErr
}

// storeOf returns the store of the target's outputs. Jobs of the local engine may
// write to S3 with the user's own credentials.
func storeOf(con *term.Console, t *target.Target) *resultStore {
	s := &objects.Store{Config: func(ctx context.Context) (aws.Config, error) {
		if t.IsLocal() {
			return target.AWSConfig(ctx, con, document.Target{})
		}
		return t.Config, nil
	}}
	return &resultStore{s}
}

// resultStore is a store with the methods of this command.
type resultStore struct{ *objects.Store }

// outputsOf returns the outputs of the command's jobs, including those of every
// child of an array, without the parts that a newer job runs again.
func outputsOf(ctx context.Context, call *jobs.Call) ([]*jobOutput, error) {
	var all []*jobOutput
	replaced := call.Replaced()
	for _, job := range call.Known {
		outputs, err := outputsOfJob(ctx, call, job.JobDetail)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", client.DisplayName(aws.ToString(job.JobName)), err)
		}
		isReplaced := replaced[aws.ToString(job.JobId)]
		all = append(all, slices.DeleteFunc(outputs, func(o *jobOutput) bool {
			return batch.ArraySize(job.JobDetail) > 0 && isReplaced[o.index] || batch.ArraySize(job.JobDetail) == 0 &&
				isReplaced[0]
		})...)
	}
	return all, nil
}

// outputsOfJob returns the outputs of one job. Each container declares them in
// its own environment.
func outputsOfJob(ctx context.Context, call *jobs.Call, job types.JobDetail) (all []*jobOutput, err error) {
	// A container without the variable has no outputs.
	for _, environment := range environmentsOf(job) {
		text := session.ValueIn(environment, stage.Variable)
		if text == "" {
			continue
		}
		instances, err := instancesOf(ctx, call, job, text, environment)
		if err != nil {
			return nil, err
		}
		for _, one := range instances {
			outputs, err := one.outputs()
			if err != nil {
				return nil, err
			}
			all = append(all, outputs...)
		}
	}
	return all, nil
}

// environmentsOf returns the environments of all containers of a job, in each
// form that a job can have.
func environmentsOf(job types.JobDetail) (all [][]types.KeyValuePair) {
	tasks := func(p *types.EcsPropertiesDetail) {
		if p == nil {
			return
		}
		for _, task := range p.TaskProperties {
			for _, c := range task.Containers {
				all = append(all, c.Environment)
			}
		}
	}
	if job.Container != nil {
		all = append(all, job.Container.Environment)
	}
	tasks(job.EcsProperties)
	if job.NodeProperties != nil {
		for _, nodes := range job.NodeProperties.NodeRangeProperties {
			if nodes.Container != nil {
				all = append(all, nodes.Container.Environment)
			}
			if nodes.EcsProperties != nil {
				for _, task := range nodes.EcsProperties.TaskProperties {
					for _, c := range task.Containers {
						all = append(all, c.Environment)
					}
				}
			}
		}
	}
	return all
}

// instance is a job, or a child of an array, with the environment of its
// container.
type instance struct {
	job         string
	index       int    // of a child; -1 for a job that is not a child
	document    string // the text of stage.Variable
	environment map[string]string
}

// instancesOf returns the job itself, or the children of an array. It rebuilds
// the variables that AWS Batch and the launcher set in the container, because
// DescribeJobs does not report them.
func instancesOf(ctx context.Context, call *jobs.Call, job types.JobDetail, document string,
	environment []types.KeyValuePair) ([]instance, error) {
	base := map[string]string{}
	for _, v := range environment {
		base[aws.ToString(v.Name)] = aws.ToString(v.Value)
	}
	// AWS Batch sets this variable from the queue that the job ran in.
	base["AWS_BATCH_JQ_NAME"] = path.Base(aws.ToString(job.JobQueue))
	name, id := client.DisplayName(aws.ToString(job.JobName)), aws.ToString(job.JobId)
	of, err := session.FindSweep(ctx, call.Target, job)
	if err != nil {
		return nil, err
	}
	size := batch.ArraySize(job)
	one := func(i int, id string, job types.JobDetail) instance {
		e := map[string]string{"AWS_BATCH_JOB_ID": id, "AWS_BATCH_JOB_ATTEMPT": strconv.Itoa(max(1, len(job.Attempts)))}
		text := document
		if i >= 0 || of != nil {
			// The launcher sets the index to the cell's, so URLs that contain it do too.
			cell := of.Cell(max(0, i))
			e["AWS_BATCH_JOB_ARRAY_INDEX"], e[sweep.CellVariable] = strconv.Itoa(cell), strconv.Itoa(cell)
			for k, value := range of.Values(max(0, i)) {
				e[sweep.Variable(of.Names()[k])] = value
			}
			if of != nil && of.Sweep != nil && slices.Contains(of.Sweep.Templates, stage.Variable) {
				text = of.Sweep.Replace(cell, text)
			}
		}
		if size > 0 {
			e["AWS_BATCH_JOB_ARRAY_SIZE"] = strconv.Itoa(size)
		}
		for name, value := range base {
			if _, set := e[name]; !set {
				e[name] = value
			}
		}
		return instance{name, i, text, e}
	}
	if size == 0 {
		index := -1
		if job.ArrayProperties != nil && job.ArrayProperties.Index != nil {
			index = int(*job.ArrayProperties.Index)
		}
		return []instance{one(index, id, job)}, nil
	}
	known := map[string]types.JobDetail{}
	// Only this variable needs the children themselves; their ids follow from the
	// array's.
	if strings.Contains(document, "${AWS_BATCH_JOB_ATTEMPT}") {
		ids := make([]string, size)
		for i := range ids {
			ids[i] = batch.ChildID(id, i)
		}
		children, err := call.Client.Recall(ctx, ids...)
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			known[aws.ToString(child.JobId)] = child.JobDetail
		}
	}
	all := make([]instance, size)
	for i := range all {
		child := batch.ChildID(id, i)
		all[i] = one(i, child, known[child])
	}
	return all, nil
}

// outputs returns all outputs of an instance.
func (n instance) outputs() (all []*jobOutput, err error) {
	d, err := stage.Parse(n.document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage.Variable, err)
	}
	for _, out := range d.Outputs {
		one, err := n.output(out)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// output expands the variables in one output of an instance.
func (n instance) output(out stage.Output) (*jobOutput, error) {
	lookup := func(name string) (string, bool) { value, ok := n.environment[name]; return value, ok }
	names, _ := stage.Variables(out.Local) // Expand below reports the error
	o := &jobOutput{job: n.job, index: n.index, Output: out, own: slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ARRAY_INDEX", sweep.CellVariable}, name)
	})}
	for _, text := range []struct {
		to   *string
		from string
	}{{&o.url, out.To}, {&o.From, out.From}, {&o.Local, out.Local}} {
		expanded, err := stage.Expand(text.from, lookup)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w in the answer of DescribeJobs", out.To, err)
		}
		*text.to = expanded
	}
	return o, nil
}

// name returns the base name of the output in its container.
func (o *jobOutput) name() string { return path.Base(strings.TrimSuffix(o.From, "/")) }

// find lists the files of all outputs. It returns the first error in the order of
// the outputs.
func (s *resultStore) find(ctx context.Context, outputs []*jobOutput) error {
	errs := make([]error, len(outputs))
	free := make(chan struct{}, transfersAtOnce)
	var wait sync.WaitGroup
	for i, o := range outputs {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			o.found, o.at, errs[i] = s.List(ctx, o.url, o.name())
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// writeOutputs prints one row per file.
func writeOutputs(con *term.Console, format string, outputs []*jobOutput) error {
	rows := []OutputRow{}
	for _, o := range outputs {
		for _, f := range o.found {
			row := OutputRow{Job: o.job, Name: f.Name, Size: f.Size, Modified: f.Modified.UTC(), URL: f.URL,
				Local: o.file(f)}
			if o.index >= 0 {
				row.Index = &o.index
			}
			rows = append(rows, row)
		}
	}
	if format == "json" {
		return con.JSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(con.Err, "the jobs have not uploaded any files yet")
		return nil
	}
	now := time.Now()
	t := con.Table("JOB", "NAME", "SIZE", "AGE", "URL")
	for _, r := range rows {
		job := r.Job
		if r.Index != nil {
			job = batch.ChildID(job, *r.Index)
		}
		t.Row(job, r.Name, text.Size(r.Size), text.Duration(now.Sub(r.Modified)), r.URL)
	}
	return t.Flush()
}

// placeOutputs sets the local path of each output. Job files may come from other
// people, so paths stay below the current directory, or below dir.
func placeOutputs(outputs []*jobOutput, dir string) error {
	taken := map[string]bool{}
	for _, o := range outputs {
		local := o.Local
		if dir != "" || local == "" {
			local = o.byJob(o.name())
			if taken[local] {
				local = o.byJob(strings.Trim(strings.ReplaceAll(o.From, "/", "-"), "-"))
			}
		} else if o.index >= 0 && !o.own {
			local = ofChild(local, o.index)
		}
		// A backslash separates directories on Windows, so it is refused
		// everywhere.
		if !filepath.IsLocal(filepath.FromSlash(local)) || path.Clean(local) == "." ||
			strings.ContainsAny(local, "\\\x00") {
			return exit.Fail(exit.NotDone, "output path %s is outside this directory", local).
				Try("choose a directory with --to DIRECTORY, or download it: aws s3 cp --recursive %s DIRECTORY", o.at)
		}
		// .git/hooks and .ssh/authorized_keys may be below this directory
		if dir == "" && slices.ContainsFunc(strings.Split(path.Clean(local), "/"),
			func(name string) bool { return strings.HasPrefix(name, ".") }) {
			return exit.Fail(exit.NotDone, "output path %s is hidden", local).Try("name a directory: --to DIRECTORY")
		}
		if taken[local] {
			return exit.Fail(exit.NotDone, "two outputs go to %s", local).
				Try("choose a directory: --to DIRECTORY; each job gets a subdirectory")
		}
		taken[local] = true
		o.local = filepath.FromSlash(local)
		if dir != "" {
			o.local = filepath.Join(dir, o.local)
		}
	}
	return nil
}

// byJob returns a path for this output alone: JOB/NAME or JOB/INDEX/NAME.
func (o *jobOutput) byJob(name string) string {
	if o.index >= 0 {
		name = strconv.Itoa(o.index) + "/" + name
	}
	return o.job + "/" + name
}

// ofChild inserts the index into an array's path: out/model.pt becomes
// out/3/model.pt.
func ofChild(local string, index int) string {
	if strings.HasSuffix(local, "/") {
		return local + strconv.Itoa(index) + "/"
	}
	return path.Join(path.Dir(local), strconv.Itoa(index), path.Base(local))
}

// file returns the local path of a file of the output; "" before placeOutputs.
func (o *jobOutput) file(f objects.Found) string {
	switch {
	case o.local == "":
		return ""
	// The output is a single file, so local is a file name unless it ends with a
	// slash.
	case len(o.found) == 1 && o.found[0].URL == o.at:
		if strings.HasSuffix(o.local, "/") {
			return filepath.Join(o.local, f.Name)
		}
		return o.local
	}
	return filepath.Join(o.local, filepath.FromSlash(f.Name))
}

// fetch downloads outputs, several at a time. An error of one does not stop the
// others.
func fetch(ctx context.Context, con *term.Console, store *resultStore, outputs []*jobOutput) error {
	var mu sync.Mutex
	failed, differ := 0, false
	free := make(chan struct{}, transfersAtOnce)
	var wait sync.WaitGroup
	for _, o := range outputs {
		if len(o.found) == 0 {
			mu.Lock()
			fmt.Fprintf(con.Err, "%s does not exist\n", diag.Printable(o.url))
			mu.Unlock()
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			begin := time.Now()
			moved, err := store.Download(ctx, stage.Input{From: o.at, To: filepath.ToSlash(o.local)})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				differ = differ || objects.Differs(err)
				fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(con.Redacted(err.Error())))
				return
			}
			fmt.Fprintf(con.Err, "%s -> %s: %s\n", diag.Printable(o.at), diag.Printable(o.local),
				stage.Describe(moved, time.Since(begin)))
		})
	}
	wait.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed > 0 && differ:
		return exit.Fail(exit.NotDone, "could not download %s", text.Count(failed, "output")).
			Try("overwrite with --force, or keep both with --to DIRECTORY")
	case failed > 0:
		return exit.Fail(exit.NotDone, "could not download %s", text.Count(failed, "output"))
	}
	return nil
}
