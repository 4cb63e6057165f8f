package cost

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/plan"
)

// TestRates: jobs of one queue with the same request share a rate, and those that this machine ran cost nothing.
func TestRates(t *testing.T) {
	ran := func(queue, vcpus string, capabilities ...types.PlatformCapability) types.JobDetail {
		return types.JobDetail{JobName: aws.String("job"), JobQueue: aws.String(queue), PlatformCapabilities: capabilities,
			Container: &types.ContainerDetail{ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: aws.String("2048")}}}}
	}
	w := world(map[string][]string{"one": {"EC2 m5.large"}, "fargate": {"FARGATE"}})
	of := func(r *Rates, jobs ...types.JobDetail) (rates []Rate) {
		for _, d := range jobs {
			rate, err := r.Of(d)
			if err != nil {
				t.Fatal(err)
			}
			rates = append(rates, rate)
		}
		return rates
	}
	r := &Rates{State: w, Prices: prices(t)}
	got := of(r, ran("one", "1"), ran("one", "1"), ran("one", "2"))
	if n := len(r.All()); n != 2 || jsonOf(t, got[0]) != jsonOf(t, got[1]) || got[0].Share*2 != got[2].Share {
		t.Errorf("%d rates: %s", n, jsonOf(t, got))
	}
	instances := r.All()
	fargate := of(&Rates{State: w, Prices: prices(t), Queue: "fargate"}, ran("one", "1", types.PlatformCapabilityFargate))
	if fargate[0].On == "" || fargate[0].LeastSeconds == 0 {
		t.Errorf("as if in queue fargate: %s", jsonOf(t, fargate))
	}
	free := of(&Rates{State: &plan.TargetState{Local: true}, Prices: prices(t)}, ran("one", "1"))
	if free[0].Free == "" || free[0].On != "" {
		t.Errorf("on this machine: %s", jsonOf(t, free))
	}
	for i, c := range []struct {
		rates              []Rate
		fargate, instances bool
	}{{instances, false, true}, {fargate, true, false}, {slices.Concat(fargate, instances), true, true}} {
		if got, want := NotIncluded(c.rates), plan.NotIncluded(c.fargate, c.instances); !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%d: not included %q, want %q", i, got, want)
		}
		if table := NewPriceTable(prices(t), c.rates); table.Region != "eu-west-1" || table.StandsFor != "" {
			t.Errorf("%d: %+v", i, table)
		}
	}
	if NotIncluded(free) != nil || NewPriceTable(prices(t), free).Region != "" {
		t.Error("a machine that costs nothing has a price")
	}
}

// TestKeyOf: a child belongs to its array, and an array to itself.
func TestKeyOf(t *testing.T) {
	const id = "3f2a91c0-1111-4222-8333-444444444444"
	array := &types.ArrayPropertiesDetail{Size: aws.Int32(3)}
	for _, c := range []struct {
		id    string
		array *types.ArrayPropertiesDetail
		want  Key
	}{
		{id, nil, Key{Job: "job 3f2a91c0", Workflow: "w"}},
		{id, array, Key{Job: "job 3f2a91c0", Array: "job 3f2a91c0", Workflow: "w"}},
		{id + ":2", nil, Key{Job: "job 3f2a91c0:2", Array: "job 3f2a91c0", Workflow: "w"}},
	} {
		d := types.JobDetail{JobName: aws.String("job"), JobId: &c.id, ArrayProperties: c.array}
		if got := KeyOf(d, "w"); got.Job != c.want.Job || got.Array != c.want.Array || got.Workflow != "w" {
			t.Errorf("%s: %+v, want %+v", c.id, got, c.want)
		}
	}
}

// TestRan: a job without both times has no duration.
func TestRan(t *testing.T) {
	for _, c := range []struct {
		from, to, want float64
		ok             bool
	}{{10, 12.5, 2.5, true}, {10, 10, 0, true}, {0, 10, 0, false}, {10, 0, 0, false}, {10, 9, 0, false}} {
		got, ok := Ran(types.JobSummary{StartedAt: moment(c.from), StoppedAt: moment(c.to)})
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v to %v: %v, %v", c.from, c.to, got, ok)
		}
	}
}
