package once

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/plan"
)

func asks(names ...string) *types.ConsumableResourceProperties {
	p := &types.ConsumableResourceProperties{}
	for _, n := range names {
		p.ConsumableResourceList = append(p.ConsumableResourceList, types.ConsumableResourceRequirement{ConsumableResource: &n, Quantity: aws.Int64(2)})
	}
	return p
}

// TestBoundBesidesOthers checks that the limit is added to the resources that a job requests:
// those of its request, or else those of its definition, planned or registered.
func TestBoundBesidesOthers(t *testing.T) {
	for _, c := range []struct {
		name                        string
		inPlan, registered, request *types.ConsumableResourceProperties
		want                        string
	}{
		{"nothing", nil, nil, nil, "1 bound"},
		{"the plan's definition", asks("a", "b"), nil, nil, "2 a, 2 b, 1 bound"},
		{"a registered definition", nil, asks("c"), nil, "2 c, 1 bound"},
		{"the request before the plan's definition", asks("a"), nil, asks("d"), "2 d, 1 bound"},
		{"the request before a registered one", nil, asks("a"), asks("d"), "2 d, 1 bound"},
		{"four", asks("a", "b", "c", "d"), nil, nil, "2 a, 2 b, 2 c, 2 d, 1 bound"},
		{"five", nil, nil, asks("a", "b", "c", "d", "e"), "error: it requests 5 consumable resources"},
	} {
		f, client := newFake(t)
		j := part(job("j", "x"), "", 9, 4)
		j.Submit.ConsumableResourcePropertiesOverride = c.request
		j.Register.ConsumableResourceProperties = c.inPlan
		if c.inPlan == nil {
			j.Register = nil
			f.Definitions = []types.JobDefinition{
				{JobDefinitionName: aws.String("j"), Revision: aws.Int32(1), Status: aws.String("ACTIVE"), ConsumableResourceProperties: asks("old")},
				{JobDefinitionName: aws.String("j"), Revision: aws.Int32(2), Status: aws.String("ACTIVE"), ConsumableResourceProperties: c.registered}}
		}
		r, err := client.newRun(t.Context(), planOf(j))
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			var list []string
			for _, q := range r.tasks[0].submit.ConsumableResourcePropertiesOverride.ConsumableResourceList {
				name := *q.ConsumableResource
				if name == "batchctl-"+r.name+"-j" {
					name = "bound"
				}
				list = append(list, fmt.Sprint(*q.Quantity, " ", name))
			}
			got = strings.Join(list, ", ")
		}
		if got != c.want && (!strings.HasPrefix(c.want, "error") || !strings.Contains(got, c.want[7:])) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if j.Submit.ConsumableResourcePropertiesOverride != c.request || j.Submit.Tags != nil {
			t.Errorf("%s: the plan was changed", c.name)
		}
	}
}

func TestBoundOfAnUnknownDefinition(t *testing.T) {
	f, c := newFake(t)
	j := part(job("j", "x"), "", 9, 4)
	j.Register = nil
	if _, err := c.Submit(t.Context(), planOf(j)); !isA[*client.NoSuchDefinitionError](err) || f.Count("SubmitJob") > 0 {
		t.Error(err)
	}
}

// TestGroups checks that the arrays of a sweep share a limit, that groups of two files do not,
// and that a group no larger than its limit has none.
func TestGroups(t *testing.T) {
	_, c := newFake(t)
	r, err := c.newRun(t.Context(), planOf(
		part(job("a-1of2", "x"), "a", 3, 4), part(job("a-2of2", "x"), "a", 3, 4),
		part(job("a-1of2", "x"), "a", 3, 2), part(job("a-2of2", "x"), "a", 3, 2),
		part(job("small", "x"), "", 4, 4), part(job("b", "x"), "", 3, 0)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range r.tasks {
		got = append(got, strings.TrimPrefix(task.resource, "batchctl-"+r.name+"-")+" "+task.submit.Tags[MaxParallelTag])
	}
	if want := []string{"a 4", "a 4", "a-2 2", "a-2 2", " ", " "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResourceName(t *testing.T) {
	long := strings.Repeat("n", 127)
	a, b := resourceName("3f2a91c0", long+"a"), resourceName("3f2a91c0", long+"b")
	if len(a) != maxResourceName || len(b) != maxResourceName || a == b || !strings.HasPrefix(a, "batchctl-3f2a91c0-nnn") {
		t.Errorf("%s, %s", a, b)
	}
}

// TestRefusedWithItsResource checks that the resource of a rejected job is removed, unless a job
// of an open run still needs it.
func TestRefusedWithItsResource(t *testing.T) {
	inCalm(t, func(t *testing.T, s *service, _ *workers) {
		c := withLedger(t, New(s.Config()))
		refusedPart := func() *plan.Job {
			j := part(command("a-1of2", "true"), "a", 5, 3)
			j.Submit.JobQueue = aws.String("nowhere")
			return j
		}
		if _, err := c.Submit(t.Context(), planOf(refusedPart())); !isA[*client.RefusedError](err) || s.calls["CreateConsumableResource"] != 1 {
			t.Fatal(err)
		}
		if left, err := c.Resources(t.Context()); len(left) > 0 || err != nil {
			t.Errorf("%+v, %v", left, err)
		}
		first, second := part(command("a-2of2", "true"), "a", 5, 3), refusedPart()
		jobs, err := c.Submit(t.Context(), planOf(first, second))
		if !isA[*OpenError](err) {
			t.Fatal(err)
		}
		for _, err := range c.Watch(t.Context(), jobs[0].ID) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if removed, err := c.ReleaseResources(t.Context(), jobs[0].ID); len(removed) > 0 || err != nil {
			t.Errorf("%+v, %v", removed, err)
		}
		run := onlyRun(t, c).Name
		if left, err := c.Resources(t.Context()); len(left) != 1 || left[0].Kept != "used by submission "+run || left[0].MaxParallel != 3 || err != nil {
			t.Errorf("%+v, %v", left, err)
		}
		if _, err := c.Drop(run); err != nil {
			t.Fatal(err)
		}
		if removed, err := c.ReleaseResources(t.Context(), jobs[0].ID); len(removed) != 1 || err != nil {
			t.Errorf("%+v, %v", removed, err)
		}
	})
}

// TestResourcesToCollect checks that only old resources of batchctl are removed that no job
// requests.
func TestResourcesToCollect(t *testing.T) {
	inCalm(t, func(t *testing.T, s *service, _ *workers) {
		c := withLedger(t, New(s.Config()))
		create := func(name, run string) {
			in := &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name, TotalQuantity: aws.Int64(3)}
			if run != "" {
				in.Tags = map[string]string{RunTag: run}
			}
			if _, err := s.direct.CreateConsumableResource(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		create("batchctl-of-others", "")
		create("licence", "")
		create("batchctl-11111111-a", "22222222")
		create("batchctl-33333333-a", "33333333")
		create("batchctl-44444444-b", "44444444")
		// A job of a run on another machine requests one of them and never ends.
		j := command("held", "true")
		j.Submit.ConsumableResourcePropertiesOverride = asks("batchctl-44444444-b", "licence")
		j.Submit.ConsumableResourcePropertiesOverride.ConsumableResourceList[1].Quantity = aws.Int64(99)
		jobs, err := New(s.cfg).Submit(t.Context(), planOf(j))
		if err != nil {
			t.Fatal(err)
		}
		kept := func() (lines []string) {
			t.Helper()
			all, err := c.Resources(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				lines = append(lines, strings.TrimSpace(r.Name+" "+r.Kept))
			}
			return lines
		}
		if got, want := kept(), []string{"batchctl-33333333-a created less than a day ago", "batchctl-44444444-b created less than a day ago"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		time.Sleep(minResourceAge)
		if got, want := kept(), []string{"batchctl-33333333-a", "batchctl-44444444-b used by job held (" + batch.ShortID(jobs[0].ID) + ")"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := c.Stop(t.Context(), jobs[0].ID, ""); err != nil {
			t.Fatal(err)
		}
		if got, want := kept(), []string{"batchctl-33333333-a", "batchctl-44444444-b"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for range 2 {
			if err := c.RemoveResource(t.Context(), Resource{Name: "batchctl-33333333-a"}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestResourceJustCreated checks that a request is repeated if the service does not know a new
// resource everywhere yet.
func TestResourceJustCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Faults["SubmitJob"] = clienttest.Times(3, clienttest.Reply(400, "ClientException", `{"message":"Consumable resource batchctl-x does not exist."}`))
		f.Faults["CreateConsumableResource"] = []clienttest.Fault{clienttest.Reply(200, "", `{"consumableResourceArn":"a","consumableResourceName":"n"}`)}
		if _, err := c.Submit(t.Context(), planOf(part(job("j", "x"), "", 9, 4))); err != nil || f.Count("SubmitJob") != 4 {
			t.Errorf("%v after %d calls", err, f.Count("SubmitJob"))
		}
	})
}
