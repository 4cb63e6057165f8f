package cost

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// billCase is a line of input of bill.py: a job with its children, and how long all their attempts took.
type billCase struct {
	// Platform is that of a Fargate task; "" runs on instances of Type.
	Platform string  `json:"platform"`
	Type     string  `json:"type"`
	Nodes    int     `json:"nodes"`
	Spot     bool    `json:"spot"`
	VCPUs    float64 `json:"vcpus"`
	Memory   int     `json:"memory"` // MiB
	Storage  int     `json:"storage"`
	Address  bool    `json:"address"`
	Children int     `json:"children"`
	Retries  int     `json:"retries"`
	Timeout  int     `json:"timeout"`  // seconds
	Attempts []int64 `json:"attempts"` // milliseconds
}

// drawBill draws a case. Short times are frequent, because the minimums matter for them.
func drawBill(r *rand.Rand) billCase {
	c := billCase{Nodes: 1, Spot: r.IntN(2) == 0, Storage: 20, Children: 1 + r.IntN(50), Retries: 1 + r.IntN(10), Timeout: 60 + r.IntN(1200), Attempts: []int64{}}
	if r.IntN(2) == 0 {
		c.Platform = []string{catalog.X86, catalog.Arm, catalog.Windows}[r.IntN(3)]
		sizes := catalog.FargateVCPUs()
		c.VCPUs = sizes[r.IntN(len(sizes))]
		memory := catalog.FargateMemory(c.VCPUs)
		c.Memory, c.Address = memory[r.IntN(len(memory))], r.IntN(2) == 0
		c.Spot = c.Spot && c.Platform != catalog.Windows // AWS offers none
		if r.IntN(2) == 0 {
			c.Storage = 21 + r.IntN(180)
		}
	} else {
		c.Type = []string{"m5.large", "m5.xlarge", "r5.4xlarge", "c5n.18xlarge"}[r.IntN(4)]
		c.VCPUs, c.Memory = float64(1+r.IntN(2)), 512
		if c.Type == "c5n.18xlarge" { // for jobs of several nodes
			c.Spot, c.Nodes = false, 2+r.IntN(8)
		}
	}
	for range r.IntN(6) {
		longest := []int64{2_000, 70_000, 310_000, 20_000_000}[r.IntN(4)]
		c.Attempts = append(c.Attempts, r.Int64N(longest))
	}
	return c
}

// detail is the job with its attempts, as DescribeJobs shows it.
func (c billCase) detail() types.JobDetail {
	need := []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String(fmt.Sprint(c.VCPUs))}, {Type: types.ResourceTypeMemory, Value: aws.String(fmt.Sprint(c.Memory))}}
	d := types.JobDetail{JobName: aws.String("j"), JobId: aws.String("id"), JobQueue: aws.String(c.queue()), Status: types.JobStatusSucceeded,
		Timeout: &types.JobTimeout{AttemptDurationSeconds: aws.Int32(int32(c.Timeout))}, RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(int32(c.Retries))}}
	at := int64(1_000_000)
	for _, ms := range c.Attempts {
		d.Attempts = append(d.Attempts, types.AttemptDetail{StartedAt: aws.Int64(at), StoppedAt: aws.Int64(at + ms)})
		d.StartedAt, d.StoppedAt = aws.Int64(at), aws.Int64(at+ms)
		at += ms + 1
	}
	switch {
	case c.Nodes > 1:
		d.NodeProperties = &types.NodeProperties{MainNode: aws.Int32(0), NumNodes: aws.Int32(int32(c.Nodes)), NodeRangeProperties: []types.NodeRangeProperty{
			{TargetNodes: aws.String("0:"), Container: &types.ContainerProperties{ResourceRequirements: need}}}}
	case c.Platform == "":
		d.Container = &types.ContainerDetail{ResourceRequirements: need}
	default:
		runs := &types.RuntimePlatform{CpuArchitecture: aws.String("X86_64"), OperatingSystemFamily: aws.String("LINUX")}
		if c.Platform == catalog.Arm {
			runs.CpuArchitecture = aws.String("ARM64")
		}
		if c.Platform == catalog.Windows {
			runs.OperatingSystemFamily = aws.String("WINDOWS_SERVER_2022_CORE")
		}
		d.PlatformCapabilities = []types.PlatformCapability{types.PlatformCapabilityFargate}
		d.Container = &types.ContainerDetail{ResourceRequirements: need, RuntimePlatform: runs}
		if c.Storage > 20 {
			d.Container.EphemeralStorage = &types.EphemeralStorage{SizeInGiB: aws.Int32(int32(c.Storage))}
		}
		if c.Address {
			d.Container.NetworkConfiguration = &types.NetworkConfiguration{AssignPublicIp: types.AssignPublicIpEnabled}
		}
	}
	return d
}

func (c billCase) queue() string {
	kind := map[bool]string{false: "EC2", true: "SPOT"}[c.Spot]
	if c.Platform != "" {
		kind = map[bool]string{false: "FARGATE", true: "FARGATE_SPOT"}[c.Spot]
	}
	return strings.TrimSuffix(kind+"-"+strings.ReplaceAll(c.Type, ".", "-"), "-")
}

// amounts are those of batchctl, under the names of bill.py.
func (c billCase) amounts(t *testing.T, w *plan.TargetState, prices *catalog.Prices) map[string]float64 {
	made, err := PlanOf(c.detail(), "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Children > 1 {
		made.Jobs[0].Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(c.Children))}
	}
	v := made.Review(w, nil, prices)
	list := Before("", v, prices, ran(float64(c.Timeout)))
	spent := Took(c.detail(), time.UnixMilli(0)).At(list[0].Rate)
	least, most := v.Jobs[0].Cost.Range()
	e := list[0].Cost
	if text := e.String() + spent.Cost.String(); strings.Contains(text, "unknown") || v.Jobs[0].Cost.Unknown != "" {
		t.Fatalf("%+v: no amount: %s, %s", c, text, v.Jobs[0].Cost.Unknown)
	}
	if Over(list, e.High.USD*(1-1e-6)) == nil || Over(list, e.High.USD) != nil {
		t.Fatalf("%+v: --max-cost does not compare with %v", c, e.High.USD)
	}
	share := 0.0 // as history and advise have it
	for _, ms := range c.Attempts {
		share += list[0].Rate.ShareUSD(float64(ms) / 1000)
	}
	return map[string]float64{"share": share, "low": spent.Cost.Low.USD, "high": spent.Cost.High.USD, "alone": spent.Alone.USD, "least": least, "most": most,
		"least before": e.Low.USD, "most before": e.High.USD}
}

// billingPrices are the prices of the table as a price file. Prices that batchctl has too must be the same.
func billingPrices(t *testing.T) *catalog.Prices {
	text, err := os.ReadFile("testdata/aws-billing.csv")
	if err != nil {
		t.Fatal(err)
	}
	read := csv.NewReader(bytes.NewReader(text))
	read.Comment = '#'
	rows, err := read.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	file := catalog.PricesHead + "\n"
	for _, row := range rows[1:] {
		item, isPrice := strings.CutPrefix(row[0], "price:")
		if !isPrice {
			continue
		}
		file += "us-east-1," + item + "," + row[1] + "\n"
		if known, ok := (*catalog.Prices)(nil).Instance("us-east-1", item); ok && fmt.Sprint(known) != row[1] {
			t.Errorf("%s costs %v here, and %s in the table", item, known, row[1])
		}
	}
	p, err := catalog.ReadPrices(strings.NewReader(file), "aws-billing.csv")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBill compares 10,000 amounts with the bills of a Python program that reads AWS's rules from a table.
func TestBill(t *testing.T) {
	testtool.Need(t, "python3")
	prices := billingPrices(t)
	w := world(map[string][]string{"FARGATE": {"FARGATE"}, "FARGATE_SPOT": {"FARGATE_SPOT"}, "EC2-m5-large": {"EC2 m5.large"}, "EC2-m5-xlarge": {"EC2 m5.xlarge"}, "EC2-r5-4xlarge": {"EC2 r5.4xlarge"},
		"EC2-c5n-18xlarge": {"EC2 c5n.18xlarge"}, "SPOT-m5-large": {"SPOT m5.large"}, "SPOT-m5-xlarge": {"SPOT m5.xlarge"}, "SPOT-r5-4xlarge": {"SPOT r5.4xlarge"}})
	w.Region = "us-east-1"
	r := rand.New(rand.NewPCG(1, 2))
	cases := make([]billCase, 10_000)
	var in bytes.Buffer
	for i := range cases {
		cases[i] = drawBill(r)
		line, err := json.Marshal(cases[i])
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	python := exec.Command("python3", "testdata/bill.py")
	python.Stdin, python.Stderr = &in, os.Stderr
	out, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for i, c := range cases {
		var bill map[string]float64
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &bill) != nil || len(bill) != 5 {
			t.Fatalf("no bill of case %d: %s", i, lines.Text())
		}
		bill["least before"], bill["most before"], bill["share"] = bill["least"], bill["most"], bill["high"]
		for name, amount := range c.amounts(t, w, prices) {
			if want := bill[name]; math.Abs(amount-want) > 1e-9*max(want, 1e-9) {
				t.Fatalf("case %d, %s: batchctl has %v USD, AWS bills %v USD: %+v", i, name, amount, want, c)
			}
		}
	}
}
