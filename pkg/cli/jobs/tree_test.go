package jobs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool/golden"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// treeMoment is now in the golden trees.
var treeMoment = time.UnixMilli(1_800_000_000_000)

func treeID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

// grown makes a job n; it was created an hour ago and depends on others.
func grown(n int, name string, status types.JobStatus, after ...int) types.JobDetail {
	job := types.JobDetail{JobId: aws.String(treeID(n)), JobName: &name, Status: status, CreatedAt: aws.Int64(treeMoment.Add(-time.Hour).UnixMilli())}
	for _, a := range after {
		job.DependsOn = append(job.DependsOn, types.JobDependency{JobId: aws.String(treeID(a))})
	}
	return job
}

func ran(job types.JobDetail, from, to time.Duration) types.JobDetail {
	job.StartedAt = aws.Int64(treeMoment.Add(-from).UnixMilli())
	if to > 0 {
		job.StoppedAt = aws.Int64(treeMoment.Add(-to).UnixMilli())
	}
	return job
}

func ofChildren(job types.JobDetail, size int32, summary map[string]int32) types.JobDetail {
	job.ArrayProperties = &types.ArrayPropertiesDetail{Size: &size, StatusSummary: summary}
	return job
}

func because(job types.JobDetail, reason string, exit int32) types.JobDetail {
	job.StatusReason = &reason
	if exit > 0 {
		job.Container = &types.ContainerDetail{ExitCode: &exit}
	}
	return job
}

func goldenTrees() map[string][]types.JobDetail {
	var chain []types.JobDetail
	for i := range 14 {
		job := grown(i, fmt.Sprintf("step-%02d", i), types.JobStatusPending)
		if i > 0 {
			job = grown(i, fmt.Sprintf("step-%02d", i), types.JobStatusPending, i-1)
		}
		chain = append(chain, job)
	}
	return map[string][]types.JobDetail{
		"workflow": {
			grown(5, "report", "PENDING", 3, 4),
			ran(grown(1, "prepare", "SUCCEEDED"), 50*time.Minute, 40*time.Minute),
			ofChildren(grown(2, "train", "PENDING", 1), 10_000, map[string]int32{"SUCCEEDED": 7_000, "FAILED": 3, "RUNNING": 512, "RUNNABLE": 2_485}),
			because(ran(grown(3, "measure", "FAILED", 1), 30*time.Minute, 29*time.Minute), "Essential container in task exited", 137),
			grown(4, "collect", "PENDING", 2),
			because(grown(6, "alone-with-a-very-long-name-that-does-not-fit", "RUNNABLE"), "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", 0),
			ran(grown(7, "名前の長いジョブ", "RUNNING", 1), 10*time.Minute, 0),
		},
		"chain":  chain,
		"circle": {grown(1, "a", "PENDING", 2), grown(2, "b", "PENDING", 1), grown(3, "c", "PENDING", 3)},
		"array":  {ofChildren(grown(1, "sweep", "SUCCEEDED"), 4, map[string]int32{"SUCCEEDED": 4}), ofChildren(grown(2, "none", "PENDING"), 4, nil)},
	}
}

// TestTree compares trees at several widths with golden files; 0 is a pipe.
func TestTree(t *testing.T) {
	for name, jobs := range goldenTrees() {
		var got strings.Builder
		for _, width := range []int{0, 100, 72, 58, 30} {
			fmt.Fprintf(&got, "== %d columns\n", width)
			note := func(job types.JobDetail) string {
				if width > 0 {
					return term.JoinClauses(progress(job), problemOf(job), lasted(job, treeMoment))
				}
				return term.JoinClauses(session.RollUp(job), problemOf(job), lasted(job, treeMoment))
			}
			for _, l := range treeLines(treeRows(jobs, session.Asked{}, note, width > 0), width) {
				if width > 0 && l.Width() > width {
					t.Errorf("%s: a line of %d columns on %d", name, l.Width(), width)
				}
				got.WriteString(l.Render(false) + "\n")
			}
		}
		golden.Read(t, filepath.Join("testdata", "trees.txtar")).Want(t, name, got.String())
	}
}

// TestTreeHoldsEachJobOnce draws random dependencies, with cycles among them.
func TestTreeHoldsEachJobOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "jobs")
		var rows []treeRow
		for i := range n {
			row := treeRow{id: treeID(i), name: fmt.Sprint("job", i), status: "RUNNING"}
			for _, on := range rapid.SliceOfN(rapid.IntRange(0, n+1), 0, 4).Draw(t, "after") {
				row.after = append(row.after, treeID(on))
			}
			rows = append(rows, row)
		}
		width := rapid.IntRange(1, 120).Draw(t, "width")
		seen := map[string]int{}
		for _, l := range limbs(plant(rows), width/3) {
			seen[l.id]++
		}
		for _, l := range treeLines(rows, width) {
			if l.Width() > width {
				t.Fatalf("a line of %d columns on %d", l.Width(), width)
			}
		}
		if len(seen) != n {
			t.Fatalf("%d of %d jobs are in the tree", len(seen), n)
		}
		for id, times := range seen {
			if times != 1 {
				t.Fatalf("%s is there %d times", id, times)
			}
		}
	})
}

// TestTreeOrder checks that no job is above one that it depends on, if there is no cycle.
func TestTreeOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		var rows []treeRow
		for i := range n {
			row := treeRow{id: treeID(i)}
			for on := range i {
				if rapid.Bool().Draw(t, "depends") {
					row.after = append(row.after, treeID(on))
				}
			}
			rows = append(rows, row)
		}
		for _, root := range plant(rows) {
			if root.depth != 0 {
				t.Fatalf("root %s depends on %v", root.id, root.after)
			}
		}
		for _, l := range limbs(plant(rows), 0) {
			for _, c := range l.children {
				if c.depth <= l.depth {
					t.Fatalf("%s stands below %s", c.id, l.id)
				}
			}
		}
	})
}

func TestFitBlock(t *testing.T) {
	var block []term.Line
	for i := range 10 {
		block = append(block, term.Text(fmt.Sprint("line ", i), ""))
	}
	for height, want := range map[int]string{
		24: "line 0,line 1,line 2,line 3,line 4,line 5,line 6,line 7,line 8,line 9",
		6:  "line 0,line 1,… 7 more,line 9",
		4:  "… 9 more,line 9", 3: "line 9", 1: "line 9",
	} {
		var got []string
		for _, l := range term.FitBlock(block, height) {
			got = append(got, l.Render(false))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%d lines: %q, want %s", height, got, want)
		}
	}
}

func TestFromLedger(t *testing.T) {
	failed := because(ran(grown(1, "a", "FAILED"), 10*24*time.Hour, 9*24*time.Hour), "Essential container in task exited", 3)
	for want, job := range map[string]types.JobDetail{
		"ended 9 days ago: FAILED, Essential container in task exited, exit code 3 (from the ledger; AWS Batch no longer has it)": failed,
		"submitted 1h ago; batchctl never saw how it ended (from the ledger; AWS Batch no longer has it)":                         grown(1, "a", once.StatusExpired),
		"ended long ago: SUCCEEDED (from the ledger; AWS Batch no longer has it)":                                                 grown(1, "a", "SUCCEEDED"),
	} {
		if got := fromLedger(job, "AWS Batch", treeMoment); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestParseRanges(t *testing.T) {
	l := &logCall{}
	var err error
	if l.children, err = parseRanges("0-2,7,9-9"); err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range 11 {
		if l.includes(i) {
			got += fmt.Sprint(i, " ")
		}
	}
	if got != "0 1 2 7 9 " {
		t.Error(got)
	}
	for _, bad := range []string{"x", "3-1", "-1", "1-", "0-99999999999"} {
		if _, err := parseRanges(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
