package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/wire"
)

// worldFile is a World in testdata, its shapes as AWS writes them.
type worldFile struct {
	Region, Unreached, QueuesErr, EnvironmentsErr string
	Local                                         bool
	Definitions                                   map[string]struct {
		Newest, Same, Named json.RawMessage
		Err                 string
	}
	Queues, Environments []json.RawMessage
}

// worldName is the file of a World in an archive.
const worldName = "world.json"

func loadWorld(t *testing.T, a *golden.Archive) *TargetState {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(a.Text(t, worldName)))
	decoder.DisallowUnknownFields()
	var f worldFile
	if err := decoder.Decode(&f); err != nil {
		t.Fatal(err)
	}
	shape := func(text json.RawMessage, v any) {
		if err := wire.Unmarshal(text, v); err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
	}
	w := &TargetState{Target: "aws " + f.Region, Region: f.Region, Local: f.Local, Unreached: f.Unreached,
		QueuesErr: f.QueuesErr, EnvironmentsErr: f.EnvironmentsErr, Definitions: map[string]Registered{}}
	for name, d := range f.Definitions {
		r := Registered{Err: d.Err}
		for text, to := range map[*json.RawMessage]**types.JobDefinition{&d.Newest: &r.Newest, &d.Same: &r.Same, &d.Named: &r.Named} {
			if *text != nil {
				*to = new(types.JobDefinition)
				shape(*text, *to)
			}
		}
		w.Definitions[name] = r
	}
	for _, text := range f.Queues {
		var q types.JobQueueDetail
		shape(text, &q)
		w.Queues = append(w.Queues, q)
	}
	for _, text := range f.Environments {
		var e types.ComputeEnvironmentDetail
		shape(text, &e)
		w.Environments = append(w.Environments, e)
	}
	return w
}

func reviewCase(t *testing.T, a *golden.Archive) (*Plan, *Review) {
	t.Helper()
	p, problems := build(t, a)
	if p == nil {
		t.Fatal(problems)
	}
	platform := platformOf(t, a)
	v := p.Review(loadWorld(t, a), platform, nil)
	if platform != nil {
		v.Policy = PolicyOf(platform, "batchctl.json", nil)
	}
	return p, v
}

func changedCase(t *testing.T) *golden.Archive {
	return golden.Read(t, "testdata/review/changed.txtar")
}

func TestReview(t *testing.T) {
	for _, a := range golden.Glob(t, "testdata/review/*.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			p, v := reviewCase(t, a)
			text, err := p.JSON(v)
			if err != nil {
				t.Fatal(err)
			}
			a.Want(t, "want", string(text))
			for _, job := range v.Jobs {
				for _, c := range job.Definition.Changes {
					if strings.Contains(c.String(), "hunter2") {
						t.Errorf("a password is shown: %s", c)
					}
				}
			}
			// Nothing moves while the world stands still.
			changes, _, err := Moved(text, text)
			if err != nil || len(changes) > 0 {
				t.Errorf("moved: %v, %v", changes, err)
			}
		})
	}
}

// Each part of the world that a plan rests on is missed when it moves, and what
// only says how busy it is moves nothing.
func TestMoved(t *testing.T) {
	for want, move := range map[string]func(*TargetState){
		`queues[gpu].state: "ENABLED" -> "DISABLED"`: func(w *TargetState) { w.Queues[0].State = types.JQStateDisabled },
		`computeEnvironments[g5].status: "VALID" -> "INVALID"`: func(w *TargetState) {
			w.Environments[0].Status = types.CEStatusInvalid
		},
		`computeEnvironments[g5].computeResources.maxvCpus: 64 -> 0`: func(w *TargetState) { *w.Environments[0].ComputeResources.MaxvCpus = 0 },
		`computeEnvironments[g5].computeResources.instanceTypes: ["g5"] -> ["g4dn"]`: func(w *TargetState) {
			w.Environments[0].ComputeResources.InstanceTypes = []string{"g4dn"}
		},
		`definitions[train].newest: 3 -> 4`:  func(w *TargetState) { *w.Definitions["train"].Newest.Revision = 4 },
		`region: "us-east-1" -> "eu-west-1"`: func(w *TargetState) { w.Region = "eu-west-1" },
		`account: "123456789012" -> "999999999999"`: func(w *TargetState) {
			*w.Queues[0].JobQueueArn = "arn:aws:batch:us-east-1:999999999999:job-queue/gpu"
		},
		`definitions[train].used: + 2`: func(w *TargetState) {
			d := w.Definitions["train"]
			d.Same = &types.JobDefinition{Revision: aws.Int32(2)}
			w.Definitions["train"] = d
		},
		"": func(w *TargetState) { *w.Environments[0].ComputeResources.DesiredvCpus = 64 },
	} {
		p, v := reviewCase(t, changedCase(t))
		then, err := p.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		w := loadWorld(t, changedCase(t))
		move(w)
		now, err := p.JSON(p.Review(w, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		changes, notChecked, err := Moved(then, now)
		if err != nil || len(notChecked) > 0 {
			t.Errorf("%s: %v, not checked %v", want, err, notChecked)
		}
		var got []string
		for _, c := range changes {
			got = append(got, c.String())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("moved %q, want %q", got, want)
		}
	}
}

// What no request says and the client does all the same is missed when it moves.
func TestMovedBesideRequests(t *testing.T) {
	for want, move := range map[string]func(*Job){
		`requests[SubmitJob of clean].when: "failure" -> "always"`:              func(j *Job) { j.When = document.WhenAlways },
		`requests[SubmitJob of clean].after: ["${train}"] -> ["${test}"]`:       func(j *Job) { j.After[0].Job = "test" },
		`requests[SubmitJob of clean].after: ["${train}"] -> ["${earlier:id}"]`: func(j *Job) { j.After, j.Earlier = nil, []document.Dependency{{Job: "id"}} },
		`requests[SubmitJob of clean].maxParallel: 4 -> 400`:                    func(j *Job) { j.MaxParallel = 400 },
		"": func(*Job) {},
	} {
		j := &Job{Name: "clean", Submit: &awsbatch.SubmitJobInput{JobName: aws.String("clean")},
			When: document.WhenFailure, After: []document.Dependency{{Job: "train"}}, MaxParallel: 4}
		p := &Plan{Jobs: []*Job{j}}
		then, err := p.JSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		move(j)
		now, err := p.JSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		changes, _, err := Moved(then, now)
		var got []string
		for _, c := range changes {
			got = append(got, c.String())
		}
		if err != nil || strings.Join(got, "\n") != want {
			t.Errorf("moved %q, want %q, %v", got, want, err)
		}
	}
}

// What could not be read is no move, and is named.
func TestMovedUnseen(t *testing.T) {
	p, v := reviewCase(t, changedCase(t))
	then, err := p.JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	for want, blind := range map[string]*TargetState{
		"denied":  {Target: "aws", Region: "us-east-1", Definitions: v.Target.Definitions, Queues: v.Target.Queues, EnvironmentsErr: "denied"},
		"nothing": {Target: "aws", Region: "us-east-1", Unreached: "nothing"},
	} {
		now, err := p.JSON(p.Review(blind, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2][]byte{{then, now}, {now, then}} {
			changes, notChecked, err := Moved(pair[0], pair[1])
			if err != nil || len(changes) > 0 || !slices.Equal(notChecked, []string{want}) {
				t.Errorf("%s: %v, not checked %v, %v", want, changes, notChecked, err)
			}
		}
	}
	bare, err := p.JSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if changes, notChecked, err := Moved(bare, then); err != nil || len(changes) > 0 || len(notChecked) != 1 {
		t.Errorf("a plan without a target: %v, %v, %v", changes, notChecked, err)
	}
	for _, text := range []string{"", "{", "[]", `{"requests": [], "jobs": {}}`} {
		if _, _, err := Moved([]byte(text), then); err == nil {
			t.Errorf("%q passed as a plan", text)
		}
	}
}

func documentOf(t interface{ Fatalf(string, ...any) }, text string) *jsontree.Node {
	root, problems := jsontree.Parse(diag.NewSource("", text))
	if problems.HasErrors() {
		t.Fatalf("%s: %v", text, problems)
	}
	return root
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{`{"a": 1}`, `{"a": 1}`, nil},
		{`{"a": [], "b": {}, "c": null, "d": false, "e": "", "vcpus": 0, "memory": 0}`, `{}`, nil},
		{`{"schedulingPriority": 0, "hostNetwork": false}`, `{}`, []string{"schedulingPriority: - 0", "hostNetwork: - false"}},
		{`{"command": ["a", "b"]}`, `{"command": ["b", "a"]}`, []string{`command: ["a","b"] -> ["b","a"]`}},
		{`{"l": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]}`, `{"l": [{"name": "y", "v": 3}, {"name": "x", "v": 1}]}`, []string{"l[y].v: 2 -> 3"}},
		{`{"l": [{"name": "x"}]}`, `{"l": [{"name": "y"}]}`, []string{`l[y]: + {"name":"y"}`, `l[x]: - {"name":"x"}`}},
		{`{"l": [{"v": 1}, {"v": 2}]}`, `{"l": [{"v": 1}, {"v": 3}, {"v": 4}]}`, []string{"l[1].v: 2 -> 3", "l[2].v: + 4"}},
		{`{"l": [{"name": "x", "v": 1}, {"name": "x", "v": 2}]}`, `{"l": [{"name": "x", "v": 1}]}`, []string{`l[1].name: - "x"`, "l[1].v: - 2"}},
		{`{"a": {"b": 1}}`, `{"a": 2}`, []string{`a: {"b":1} -> 2`}},
		{`{"a": "1"}`, `{"a": 1}`, []string{`a: "1" -> 1`}},
		{`{"environment": [{"name": "DB_PASSWORD", "value": "hunter2-old-one"}]}`, `{"environment": [{"name": "DB_PASSWORD", "value": "hunter2-new-one"}]}`,
			[]string{`environment[DB_PASSWORD].value: "***************" -> another hidden value`}},
		{`{"environment": [{"name": "A", "value": ""}], "parameters": {}}`, `{"environment": [], "parameters": {"a": ""}}`,
			[]string{`environment[A].value: - ""`, `parameters.a: + ""`}},
		{`{"l": [{"tags": {"a": "x"}}]}`, `{"l": [{"tags": {"a": ""}}]}`, []string{`l[0].tags.a: "x" -> ""`}},
		{`{"parameters": {"token": "hunter2-old-one"}}`, `{"parameters": {}}`, []string{`parameters.token: - "***************"`}},
	} {
		var got []string
		for _, change := range Diff(documentOf(t, c.old), documentOf(t, c.new)) {
			got = append(got, change.String())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s to %s (-want +got):\n%s", c.old, c.new, d)
		}
	}
}

// A document equals itself, and what it gains one way it loses the other.
func TestDiffIsSymmetric(t *testing.T) {
	value := rapid.Custom(func(r *rapid.T) string {
		scalar := rapid.SampledFrom([]string{`1`, `"x"`, `true`, `false`, `null`, `[]`, `["a"]`, `[1, 2]`, `{"b": 1}`, `[{"name": "n", "v": 1}]`, `[{"v": 1}]`})
		return `{"a": ` + scalar.Draw(r, "a") + `, "l": [{"name": "x", "value": ` + scalar.Draw(r, "l") + `}]}`
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b := documentOf(r, value.Draw(r, "old")), documentOf(r, value.Draw(r, "new"))
		if c := Diff(a, a); len(c) > 0 {
			r.Fatalf("differs from itself: %v", c)
		}
		there, back := Diff(a, b), Diff(b, a)
		if len(there) != len(back) {
			r.Fatalf("%v there, %v back", there, back)
		}
		for _, c := range there {
			if !slices.Contains(back, Change{c.Path, c.New, c.Old}) {
				r.Fatalf("%v is not undone by %v", c, back)
			}
		}
	})
}

// The figures of a room and its price hold together, whatever the job asks for.
func TestHeadroomAndPrice(t *testing.T) {
	priced := 0
	rapid.Check(t, func(r *rapid.T) {
		n := Need{Platform: catalog.X86, Attempts: rapid.IntRange(1, 10).Draw(r, "attempts"), Children: rapid.IntRange(1, 1000).Draw(r, "children"),
			TimeoutSeconds: rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(60, 100_000)).Draw(r, "timeout"),
			Parts: []Part{{Nodes: rapid.SampledFrom([]int{1, 1, 1, 4}).Draw(r, "nodes"), Request: catalog.Request{
				VCPUs: rapid.SampledFrom([]float64{0.25, 1, 2, 3, 16, 96}).Draw(r, "vcpus"), MemoryMiB: rapid.IntRange(4, 200_000).Draw(r, "memory")}}}}
		room := EnvironmentFit{Type: "EC2", MaxvCpus: rapid.IntRange(1, 2000).Draw(r, "maxvCpus"), environment: catalog.Environment{
			Type: "EC2", InstanceTypes: rapid.SampledFrom([][]string{{"m5"}, {"optimal"}, {"c5.large", "r5.24xlarge"}}).Draw(r, "types")}}
		room.environment.MaxvCpus = room.MaxvCpus
		room = place(room, n)
		c := CostIn(room, n, nil, "us-east-1")
		if !room.Proven() {
			if c.Unknown == "" {
				r.Fatalf("a price without a place: %+v", c)
			}
			return
		}
		priced++
		used := float64(room.AtOnce) * n.Total().VCPUs
		one := room.vcpus(n)
		if used > max(float64(room.MaxvCpus), one) {
			r.Fatalf("%d jobs at once use %v of %d vCPUs", room.AtOnce, used, room.MaxvCpus)
		}
		if n.nodes() == 1 && room.AtOnce < room.Holds[0].PerInstance {
			r.Fatalf("%d at once, and one instance holds %d", room.AtOnce, room.Holds[0].PerInstance)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(a, b) }
		hours := max(float64(n.TimeoutSeconds)/3600, 0)
		if hours == 0 {
			hours = 1
		}
		switch {
		case c.Unknown != "":
			r.Fatalf("no price: %s", c.Unknown)
		case c.Least > c.Most:
			r.Fatalf("from %v to %v", c.Least, c.Most)
		case !near(c.Least, c.ShareHour*hours*float64(n.Children)):
			r.Fatalf("least %v is not %v an hour for %v hours and %d children", c.Least, c.ShareHour, hours, n.Children)
		case !near(c.Most, c.WholeHour*hours*float64(n.Children*n.Attempts)):
			r.Fatalf("most %v is not %v an hour for %v hours, %d children and %d attempts", c.Most, c.WholeHour, hours, n.Children, n.Attempts)
		case n.nodes() == 1 && !near(c.ShareHour*float64(room.Holds[0].PerInstance), c.WholeHour):
			r.Fatalf("%d shares of %v are not %v", room.Holds[0].PerInstance, c.ShareHour, c.WholeHour)
		}
		n.Children *= 2
		if twice := CostIn(room, n, nil, "us-east-1"); !near(twice.Most, 2*c.Most) {
			r.Fatalf("twice the children cost %v, not twice %v", twice.Most, c.Most)
		}
	})
	if priced == 0 {
		t.Error("no job had a price")
	}
}

// The other types of an environment that hold the job have their range beside the price:
// each once, also where two words name it, and none that is too small.
func TestPriceOnOtherTypes(t *testing.T) {
	prices, err := catalog.ReadPrices(strings.NewReader(catalog.PricesHead+"\nx,m5.large,1\nx,m5.xlarge,3\nx,m5.2xlarge,4\nx,c5.large,9\n"), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	n := Need{Platform: catalog.X86, Attempts: 1, Children: 1, Parts: []Part{{Nodes: 1, Request: catalog.Request{VCPUs: 2, MemoryMiB: 7000}}}}
	room := place(EnvironmentFit{Type: "EC2", MaxvCpus: 64, environment: catalog.Environment{Type: "EC2", MaxvCpus: 64,
		InstanceTypes: []string{"c5.large", "m5.large", "m5.xlarge", "m5.2xlarge", "m5"}}}, n)
	c := CostIn(room, n, prices, "x")
	if c.Lines[0].On != "m5.large" || c.Others != 2 || c.From != 1 || c.To != 1.5 {
		t.Errorf("on %s, and on %d others from %v to %v", c.Lines[0].On, c.Others, c.From, c.To)
	}
}

// TestOrderOfEnvironments: of several environments, the price covers all that take the job, from the Spot price of the
// cheapest to the price on demand of the most expensive, in the order in which AWS Batch tries them.
func TestOrderOfEnvironments(t *testing.T) {
	prices, err := catalog.ReadPrices(strings.NewReader(catalog.PricesHead+"\nx,m5.large,0.1\nx,m5.xlarge,0.2\nx,c5.large,0.08\nx,spot:m5.large,0.03-0.06\n"+
		"x,fargate-x86_64-vcpu,0.04\nx,fargate-x86_64-gb,0.004\nx,spot:fargate-x86_64-vcpu,0.01-0.02\nx,spot:fargate-x86_64-gb,0.001-0.002\n"), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	fit := func(words string) EnvironmentFit {
		w := strings.Fields(words)
		return EnvironmentFit{Name: w[0], Type: w[1], MaxvCpus: 64, environment: catalog.Environment{Name: w[0], Type: w[1], InstanceTypes: w[2:], MaxvCpus: 64}}
	}
	for _, test := range []struct {
		environments string // in order, with semicolons between; "-" before the name: disabled
		vcpus        float64
		want         string
	}{
		{"od EC2 m5.large", 1, "0.1..0.4"},
		{"spot SPOT m5.large", 1, "0.03..0.4: spot (SPOT) 0.015..0.03 0.03..0.4"},
		{"spot SPOT m5.large; od EC2 m5.large", 1, "0.03..0.4: spot (SPOT) 0.015..0.03 0.03..0.4, od (EC2) 0.05..0.05 0.1..0.4"},
		{"od EC2 m5.large; spot SPOT m5.large", 1, "0.03..0.4: od (EC2) 0.05..0.05 0.1..0.4, spot (SPOT) 0.015..0.03 0.03..0.4"},
		{"spot SPOT m5.large; od EC2 m5.xlarge", 1, "0.03..0.8: spot (SPOT) 0.015..0.03 0.03..0.4, od (EC2) 0.05..0.05 0.1..0.8"},
		{"spot SPOT m5.large; od EC2 m5.xlarge", 4, "0.4..0.8"}, // it fits the second only
		{"-spot SPOT m5.large; od EC2 m5.large", 1, "0.1..0.4"},
		{"spot SPOT m5.xlarge; od EC2 m5.large", 1, "up to 0.1..0.8: spot (SPOT) 0.05..0.05 0.1..0.8 no Spot price of m5.xlarge: add lines of spot:TYPE to a price file: --prices FILE, od (EC2) 0.05..0.05 0.1..0.4"},
		{"half SPOT:50 m5.large; od EC2 m5.large", 1, "0.03..0.4: half (SPOT) 0.015..0.025 0.03..0.2, od (EC2) 0.05..0.05 0.1..0.4"},
		{"spot SPOT m5.large; od EC2 r5.large", 1, "0.03..0.4 without od (EC2): spot (SPOT) 0.015..0.03 0.03..0.4, od (EC2) 0..0 0..0 no price of r5.large in x (x.csv)"},
		{"od EC2 r5.large; other EC2 m5.large", 1, "0.1..0.4 without od (EC2): od (EC2) 0..0 0..0 no price of r5.large in x (x.csv), other (EC2) 0.05..0.05 0.1..0.4"},
		{"spot FARGATE_SPOT; od FARGATE", 1, "0.024..0.192: spot (FARGATE_SPOT) 0.012..0.024 0.024..0.192, od (FARGATE) 0.048..0.048 0.096..0.192"},
	} {
		n := Need{Platform: catalog.X86, Attempts: 2, Children: 2, TimeoutSeconds: 3600, Parts: []Part{{Nodes: 1, Request: catalog.Request{VCPUs: test.vcpus, MemoryMiB: 2048, Fargate: strings.Contains(test.environments, "FARGATE")}}}}
		v := JobReview{Job: &Job{}, Need: n}
		for words := range strings.SplitSeq(test.environments, "; ") {
			r := fit(strings.ReplaceAll(strings.TrimPrefix(words, "-"), ":50", ""))
			if strings.Contains(words, ":50") {
				r.BidPercentage = 50
			}
			if r = place(r, n); strings.HasPrefix(words, "-") {
				r.State = types.CEStateDisabled
			}
			v.Environments = append(v.Environments, r)
		}
		c := v.cost(prices, &TargetState{Region: "x"})
		least, most := c.Range()
		got := fmt.Sprintf("%.4g..%.4g", least, most)
		if c.IsUpTo() {
			got = "up to " + got
		}
		if names := c.Without(); len(names) > 0 {
			got += " without " + strings.Join(names, ", ")
		}
		var steps []string
		for _, s := range c.Order {
			steps = append(steps, strings.TrimSpace(fmt.Sprintf("%s %.4g..%.4g %.4g..%.4g %s", s, s.Low, s.High, s.Least, s.Most, s.Unknown+s.LowUnknown)))
		}
		if len(steps) > 0 {
			got += ": " + strings.Join(steps, ", ")
		}
		if got != test.want {
			t.Errorf("%s, %g vCPUs:\n got %s\nwant %s", test.environments, test.vcpus, got, test.want)
		}
	}
}

// Without a queue the account is that of any definition that is registered.
func TestAccountOfDefinitions(t *testing.T) {
	arn := "arn:aws:batch:us-east-1:123456789012:job-definition/a:1"
	w := &TargetState{Definitions: map[string]Registered{"a": {Newest: &types.JobDefinition{JobDefinitionArn: &arn}}, "b": {}}}
	if got := w.Account(); got != "123456789012" {
		t.Errorf("account %q", got)
	}
}

// Storage without a price leaves the job without one, as a machine does.
func TestStorageWithoutPrice(t *testing.T) {
	const table = catalog.PricesHead + "\neu-west-1,fargate-x86_64-vcpu,0.04\neu-west-1,fargate-x86_64-gb,0.004\n"
	n := Need{Platform: catalog.X86, Attempts: 1, Children: 1, Parts: []Part{{Nodes: 1, Request: catalog.Request{VCPUs: 1, MemoryMiB: 2048, Fargate: true}}}}
	room := place(EnvironmentFit{Type: "FARGATE", environment: catalog.Environment{Type: "FARGATE", MaxvCpus: 16}}, n)
	for _, tt := range []struct {
		rows, unknown string
		gb            int
		hour          float64
	}{
		{hour: 0.048},
		{gb: 30, unknown: "no price of Fargate storage in eu-west-1 (us.csv)"},
		{gb: 30, rows: "eu-west-1,fargate-storage-gb,0.001\n", hour: 0.078},
	} {
		prices, err := catalog.ReadPrices(strings.NewReader(table+tt.rows), "us.csv")
		if err != nil {
			t.Fatal(err)
		}
		n.StorageGB = tt.gb
		if c := CostIn(room, n, prices, "eu-west-1"); c.Unknown != tt.unknown || math.Abs(c.Most-tt.hour) > 1e-9 {
			t.Errorf("%d GB: %v an hour, unknown %q", tt.gb, c.Most, c.Unknown)
		}
	}
}

// More maxvCpus never holds fewer jobs.
func TestHeadroomGrows(t *testing.T) {
	n := Need{Parts: []Part{{Nodes: 1, Request: catalog.Request{VCPUs: 3, MemoryMiB: 4096}}}}
	last := 0
	for most := 3; most < 500; most++ {
		room := place(EnvironmentFit{MaxvCpus: most, environment: catalog.Environment{Type: "EC2", InstanceTypes: []string{"m5.4xlarge"}, MaxvCpus: most}}, n)
		if room.AtOnce < last {
			t.Fatalf("%d at once within %d, and %d before", room.AtOnce, most, last)
		}
		last = room.AtOnce
	}
	if want := 499 / 16 * 5; last != want {
		t.Errorf("%d at once, want %d", last, want)
	}
}

// Whatever a file holds, comparing it with a plan ends, and with itself says nothing.
func FuzzMoved(f *testing.F) {
	f.Add(`{"requests": [{"operation": "SubmitJob", "input": {"jobName": "a"}}], "jobs": [], "checked": {"queues": [{"name": "q"}], "notChecked": ["x"]}}`)
	f.Add(`{"requests": [1, null, []], "jobs": [], "checked": {"definitions": {}, "account": 1}}`)
	f.Add(`{"requests": [], "jobs": [], "checked": [[]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if changes, _, err := Moved([]byte(text), []byte(text)); err == nil && len(changes) > 0 {
			t.Errorf("%q differs from itself: %v", text, changes)
		}
	})
}
