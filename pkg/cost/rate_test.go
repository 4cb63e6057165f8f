package cost

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
)

const table = `# date: 2026-11-01
# source: our contract
` + catalog.PricesHead + `
eu-west-1,m5.large,0.1
eu-west-1,m5.xlarge,0.24
eu-west-1,p4d.24xlarge,32
eu-west-1,c5n.18xlarge,4
eu-west-1,spot:m5.large,0.03-0.06
eu-west-1,fargate-x86_64-vcpu,0.04
eu-west-1,fargate-x86_64-gb,0.004
eu-west-1,spot:fargate-x86_64-vcpu,0.01-0.02
eu-west-1,spot:fargate-x86_64-gb,0.001-0.002
`

func prices(t testing.TB) *catalog.Prices {
	t.Helper()
	p, err := catalog.ReadPrices(strings.NewReader(table), "ours.csv")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is a target with a queue for each list of compute environments, which are written
// "EC2 m5.large m5.xlarge".
func world(queues map[string][]string) *plan.TargetState {
	w := &plan.TargetState{Target: "aws eu-west-1", Region: "eu-west-1"}
	for name, environments := range queues {
		q := types.JobQueueDetail{JobQueueName: aws.String(name), JobQueueArn: aws.String("arn:aws:batch:eu-west-1:123456789012:job-queue/" + name), State: types.JQStateEnabled, Status: types.JQStatusValid}
		for i, text := range environments {
			words := strings.Fields(text)
			called := aws.String(name + string(rune('a'+i)))
			e := types.ComputeEnvironmentDetail{ComputeEnvironmentName: called, State: types.CEStateEnabled, Status: types.CEStatusValid, Type: types.CETypeManaged,
				ComputeResources: &types.ComputeResource{Type: types.CRType(words[0]), InstanceTypes: words[1:], MaxvCpus: aws.Int32(1000)}}
			switch words[0] {
			case "SPOT50":
				e.ComputeResources.Type, e.ComputeResources.BidPercentage = types.CRTypeSpot, aws.Int32(50)
			case "UNMANAGED":
				e.Type, e.ComputeResources = types.CETypeUnmanaged, nil
			}
			w.Environments = append(w.Environments, e)
			q.ComputeEnvironmentOrder = append(q.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i + 1)), ComputeEnvironment: called})
		}
		w.Queues = append(w.Queues, q)
	}
	return w
}

// job asks for vCPUs, MiB and GPUs.
func job(queue, vcpus, memory, gpus string) *plan.Job {
	need := []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: &memory}}
	if gpus != "" {
		need = append(need, types.ResourceRequirement{Type: types.ResourceTypeGpu, Value: &gpus})
	}
	name := aws.String("job")
	var on []types.PlatformCapability
	if strings.HasPrefix(queue, "fargate") {
		on = []types.PlatformCapability{types.PlatformCapabilityFargate}
	}
	return &plan.Job{Name: "job", Register: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: name, Type: types.JobDefinitionTypeContainer, PlatformCapabilities: on,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"), ResourceRequirements: need}},
		Submit: &awsbatch.SubmitJobInput{JobName: name, JobQueue: &queue, JobDefinition: name}}
}

func rateOf(t testing.TB, w *plan.TargetState, j *plan.Job) Rate {
	t.Helper()
	made := &plan.Plan{Name: "plan", Jobs: []*plan.Job{j}}
	return RateOf(made.Review(w, nil, prices(t)).Jobs[0], prices(t), "eu-west-1", w.Local)
}

func TestRateOf(t *testing.T) {
	w := world(map[string][]string{
		"one": {"EC2 m5.large"}, "types": {"EC2 m5.large m5.xlarge"}, "two": {"EC2 m5.xlarge", "EC2 m5.large"}, "spot": {"SPOT m5.large"}, "bid": {"SPOT50 m5.large"},
		"fallback": {"SPOT m5.large", "EC2 m5.xlarge"}, "alike": {"SPOT m5.large", "EC2 m5.large"}, "reversed": {"EC2 m5.large", "SPOT m5.large"}, "darkfirst": {"SPOT m5.xlarge", "EC2 m5.xlarge"}, "fargate-both": {"FARGATE_SPOT", "FARGATE"}, "dark": {"SPOT m5.xlarge"}, "gpu": {"EC2 p4d.24xlarge"}, "fargate": {"FARGATE"},
		"fargate-spot": {"FARGATE_SPOT"}, "theirs": {"UNMANAGED"}, "half": {"EC2 m5.large", "UNMANAGED"}, "unpriced": {"EC2 c5.large"},
	})
	for _, c := range []struct {
		job  *plan.Job
		want Rate
	}{
		{job("one", "1", "1024", ""), Rate{On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.05, Highest: 0.05, Alone: 0.1}},
		{job("one", "2", "1024", ""), Rate{On: "m5.large", Share: 0.1, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.03, High: 0.06}, Least: 0.1, Highest: 0.1, Alone: 0.1}},
		{job("types", "1", "1024", ""), Rate{On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.05, Highest: 0.06, Alone: 0.1}},
		{job("two", "1", "1024", ""), Rate{Order: []string{"twoa (EC2)", "twob (EC2)"}, On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.05, Highest: 0.06, Alone: 0.24}},
		{job("spot", "1", "1024", ""), Rate{On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.015, Highest: 0.05, Alone: 0.1}},
		{job("bid", "1", "1024", ""), Rate{On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.015, Highest: 0.025, Alone: 0.05}},
		{job("fallback", "1", "1024", ""), Rate{Order: []string{"fallbacka (SPOT)", "fallbackb (EC2)"}, On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.015, Highest: 0.06, Alone: 0.24}},
		{job("fallback", "4", "1024", ""), Rate{On: "m5.xlarge", Share: 0.24, Whole: 0.24, Least: 0.24, Highest: 0.24, Alone: 0.24}},
		{job("alike", "1", "1024", ""), Rate{Order: []string{"alikea (SPOT)", "alikeb (EC2)"}, On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.015, Highest: 0.05, Alone: 0.1}},
		{job("reversed", "1", "1024", ""), Rate{Order: []string{"reverseda (EC2)", "reversedb (SPOT)"}, On: "1/2 of m5.large", Share: 0.05, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.015, High: 0.03}, Least: 0.015, Highest: 0.05, Alone: 0.1}},
		{job("darkfirst", "4", "1024", ""), Rate{Order: []string{"darkfirsta (SPOT)", "darkfirstb (EC2)"}, On: "m5.xlarge", Share: 0.24, Whole: 0.24, Least: 0.24, Highest: 0.24, Alone: 0.24, LeastUnknown: "no Spot price of m5.xlarge: add lines of spot:TYPE to a price file: --prices FILE"}},
		{job("fargate-both", "1", "2048", ""), Rate{Order: []string{"fargate-botha (FARGATE_SPOT)", "fargate-bothb (FARGATE)"}, On: "Fargate on x86_64", Share: 0.048, Whole: 0.048, Spot: &catalog.PricePeriod{Low: 0.012, High: 0.024}, Least: 0.012, Highest: 0.048, Alone: 0.048}},
		{job("dark", "4", "1024", ""), Rate{On: "m5.xlarge", Share: 0.24, Whole: 0.24, Least: 0.24, Highest: 0.24, Alone: 0.24, LeastUnknown: "no Spot price of m5.xlarge: add lines of spot:TYPE to a price file: --prices FILE"}},
		{job("gpu", "8", "1024", "1"), Rate{On: "1/8 of p4d.24xlarge", Share: 4, Whole: 32, Least: 4, Highest: 4, Alone: 32, Unused: &Unused{On: "p4d.24xlarge", GPUs: 7, Of: 8, Hour: 28}}},
		{job("gpu", "96", "1024", "2"), Rate{On: "p4d.24xlarge", Share: 32, Whole: 32, Least: 32, Highest: 32, Alone: 32, Unused: &Unused{On: "p4d.24xlarge", GPUs: 6, Of: 8, Hour: 24, Closed: true}}},
		{job("gpu", "96", "1024", "8"), Rate{On: "p4d.24xlarge", Share: 32, Whole: 32, Least: 32, Highest: 32, Alone: 32}},
		{job("fargate", "1", "2048", ""), Rate{On: "Fargate on x86_64", Share: 0.048, Whole: 0.048, Spot: &catalog.PricePeriod{Low: 0.012, High: 0.024}, Least: 0.048, Highest: 0.048, Alone: 0.048}},
		{job("fargate-spot", "1", "2048", ""), Rate{On: "Fargate on x86_64", Share: 0.048, Whole: 0.048, Spot: &catalog.PricePeriod{Low: 0.012, High: 0.024}, Least: 0.012, Highest: 0.048, Alone: 0.048}},
		{job("theirs", "1", "1024", ""), Rate{Unknown: "the instances of an unmanaged environment are unknown", LeastUnknown: "the instances of an unmanaged environment are unknown", MostUnknown: "the instances of an unmanaged environment are unknown"}},
		{job("half", "2", "1024", ""), Rate{Order: []string{"halfa (EC2)", "halfb (UNMANAGED)"}, On: "m5.large", Share: 0.1, Whole: 0.1, Spot: &catalog.PricePeriod{Low: 0.03, High: 0.06}, Least: 0.1, Highest: 0.1, Alone: 0.1,
			LeastUnknown: "the instances of an unmanaged environment are unknown", MostUnknown: "the instances of an unmanaged environment are unknown"}},
		{job("unpriced", "1", "1024", ""), Rate{Unknown: "no price of c5.large in eu-west-1 (ours.csv of 2026-11-01)", LeastUnknown: "no price of c5.large in eu-west-1 (ours.csv of 2026-11-01)", MostUnknown: "no price of c5.large in eu-west-1 (ours.csv of 2026-11-01)"}},
		{job("one", "64", "1024", ""), Rate{Unknown: "no known compute environment fits the job"}},
	} {
		if c.want.On != "" {
			c.want.Region = "eu-west-1"
		}
		if strings.HasPrefix(c.want.On, "Fargate") {
			c.want.LeastSeconds = 60
		}
		got := rateOf(t, w, c.job)
		if text, want := jsonOf(t, rounded(got)), jsonOf(t, rounded(c.want)); text != want {
			t.Errorf("%s in %s:\n got %s\nwant %s", aws.ToString(c.job.Register.ContainerProperties.ResourceRequirements[0].Value), *c.job.Submit.JobQueue, text, want)
		}
	}
}

func TestRateOfThisMachine(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}})
	w.Local = true
	if r := rateOf(t, w, job("one", "1", "1024", "")); r.Free == "" || r.On != "" {
		t.Errorf("a job of the local engine: %+v", r)
	}
}
