package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// Cost is the on-demand cost of a job in US dollars. Least is a single attempt that uses its
// whole timeout, on its share of the instances; Most is every attempt, alone on its instances.
// A job that ends before its timeout costs less.
type Cost struct {
	// Unknown says why there is no figure.
	Unknown string
	// Region is the Region of the prices. Replaces is the Region of the job, if the table has
	// no prices for it.
	Region, Replaces string
	Prices           *catalog.Prices
	// Lines is the share and the price of each part, in the order of the need.
	Lines []CostLine
	// Storage is Fargate's price an hour of the storage beyond what is free, and Address that of a task's public IPv4
	// address; 0 for none.
	StorageGB int
	Storage   float64
	Address   float64
	// ShareHour and WholeHour are dollars an hour of one attempt of one child: its
	// share of the instances, and the whole of them. On Fargate they are the same.
	ShareHour, WholeHour float64
	// Meter counts the time of the share. Meter.Whole is that of whole machines.
	Meter catalog.Meter
	// Hours is the timeout, 0 for none: then Least and Most are dollars an hour.
	Hours              float64
	Attempts, Children int
	Least, Most        float64
	// Spot says that the figures are upper bounds, and BidPercentage by how much
	// Most is lowered already; 0: not.
	Spot          bool
	BidPercentage int
	// SpotLow is the Spot price an hour of the share that Least is calculated with; 0 if that is the price on demand.
	SpotLow float64
	// Platform is the one that Fargate's prices are for, such as ARM64.
	Platform string
	// Order is what the job costs in each environment of its queue that takes it, in the order in
	// which AWS Batch tries them. It is nil for one environment without Spot; the other figures are
	// those of one environment.
	Order []Step
	// Others is how many other types of the environment hold the job, and From and
	// To what its share costs there an hour.
	Others   int
	From, To float64
}

// Step is an environment among several that take a job, with its cost there in US dollars.
type Step struct {
	// Name is the environment's; "" if the platform file gives none. Type is EC2, SPOT, FARGATE or
	// another type of AWS Batch.
	Name, Type string
	// Low and High are the price an hour of the job's share of the smallest type that fits it: its
	// Spot price, or its price on demand.
	Low, High float64
	// Least is a single attempt of the whole timeout at the low price, and Most every attempt, alone
	// on its instances, on demand. On Spot, Most is an upper bound.
	Least, Most float64
	// Unknown says why there are no figures. LowUnknown says why Low and Least are missing: then
	// High is an upper bound.
	Unknown, LowUnknown string
	// Cost is how the figures are calculated.
	Cost Cost
}

// String names the environment with its type: "cpu-spot (SPOT)".
func (s Step) String() string {
	if s.Name == "" {
		return s.Type
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.Type)
}

// CostLine is the price of machines that are alike.
type CostLine struct {
	// On is the instance type, or "Fargate".
	On    string
	Nodes int
	// PerInstance is how many such jobs share an instance; 1 on Fargate.
	PerInstance int
	// Hour is dollars an hour of one machine.
	Hour float64
	// VCPUs, GB and Price are Fargate's sum.
	VCPUs, GB float64
	Price     catalog.FargatePrice
}

// NotIncluded names what AWS bills beside the amounts of jobs, by where they run.
func NotIncluded(onFargate, onInstances bool) (list []string) {
	if onFargate {
		list = append(list, "on Fargate: the download of the image, also of attempts that did not start, and the time to stop after a timeout")
	}
	if onInstances {
		list = append(list, "on EC2: starting and idle instances, of which AWS bills at least a minute each, their EBS volumes and public IPv4 addresses")
	}
	return append(list, "logs, data transfer, and other services that the jobs use")
}

// IsFargate reports whether the figures are for Fargate.
func (c *Cost) IsFargate() bool { return c.Meter.LeastSeconds > 0 }

// Range returns the least and the most that the job costs in the environments of its queue whose prices
// are known. Without a timeout they are dollars an hour.
func (c *Cost) Range() (least, most float64) {
	if len(c.Order) == 0 {
		return c.Least, c.Most
	}
	least = math.Inf(1)
	for _, s := range c.Order {
		if s.Unknown == "" {
			least, most = min(least, s.Least), max(most, s.Most)
		}
	}
	return least, most
}

// IsUpTo reports whether only the upper end of Range is known, because a Spot price is missing.
func (c *Cost) IsUpTo() bool {
	return slices.ContainsFunc(c.Order, func(s Step) bool { return s.LowUnknown != "" })
}

// Without returns the environments that take the job at an unknown price, which Range leaves out.
func (c *Cost) Without() (names []string) {
	for _, s := range c.Order {
		if s.Unknown != "" {
			names = append(names, s.String())
		}
	}
	return names
}

// stepOf returns the step of an environment that takes the job.
func stepOf(fit EnvironmentFit, n Need, prices *catalog.Prices, region string) Step {
	c := CostIn(fit, n, prices, region)
	s := Step{Name: fit.Name, Type: fit.Type, Unknown: c.Unknown, Cost: c}
	if c.Unknown != "" {
		return s
	}
	s.Low, s.High, s.Least, s.Most = c.ShareHour, c.ShareHour, c.Least, c.Most
	if !c.Spot {
		return s
	}
	if c.BidPercentage > 0 {
		s.High *= float64(c.BidPercentage) / 100
	}
	spot, ok := c.SpotHour()
	if !ok {
		s.Low, s.LowUnknown = s.High, c.NoSpotPrice()
		return s
	}
	s.Low, s.High = min(spot.Low, s.High), min(spot.High, s.High)
	s.Least = c.Meter.USD(s.Low, c.Seconds(), c.Children)
	s.Cost.SpotLow, s.Cost.Least = s.Low, s.Least
	return s
}

// Seconds returns the time of the figures: the timeout, or an hour without one.
func (c *Cost) Seconds() float64 {
	if c.Hours == 0 {
		return 3600
	}
	return math.Round(c.Hours * 3600)
}

// CostIn returns what the job costs in a room that holds it, by the prices of a
// Region; "" stands for the table's own.
func CostIn(r EnvironmentFit, n Need, prices *catalog.Prices, region string) Cost {
	c := Cost{Prices: prices, Region: region, Hours: float64(n.TimeoutSeconds) / 3600, Attempts: n.Attempts,
		Children: n.Children, Spot: r.IsSpot(), Platform: n.Platform}
	switch {
	case !r.Fits:
		return Cost{Unknown: "the job fits nowhere"}
	case r.Type == "UNMANAGED":
		return Cost{Unknown: "the instances of an unmanaged environment are unknown"}
	case !r.Proven():
		return Cost{Unknown: "no known instance type fits the job"}
	}
	if region == "" || !prices.Has(region) {
		c.Region, c.Replaces = prices.Regions()[0], region
		if prices.Has(catalog.PricesRegion) {
			c.Region = catalog.PricesRegion
		}
	}
	for i, part := range n.Parts {
		line, ok := c.line(r, part, r.Holds[i], n.Platform)
		if !ok {
			return Cost{Unknown: fmt.Sprintf("no price of %s in %s (%s)", line.On, c.Region, prices)}
		}
		if n.nodes() > 1 {
			line.PerInstance = 1 // every node has an instance of its own
		}
		c.Lines = append(c.Lines, line)
		c.WholeHour += line.Hour * float64(part.Nodes)
		c.ShareHour += line.Hour * float64(part.Nodes) / float64(line.PerInstance)
	}
	if r.IsFargate() {
		if missing := c.extras(n); missing != "" {
			return Cost{Unknown: fmt.Sprintf("no price of %s in %s (%s)", missing, c.Region, prices)}
		}
	}
	if r.Type == "SPOT" && r.BidPercentage > 0 && r.BidPercentage < 100 {
		c.BidPercentage = r.BidPercentage
	}
	c.sum()
	c.others(r, n)
	return c
}

// extras adds what a Fargate task pays for beside its vCPUs and memory. missing is the item without a price; "" for
// none.
func (c *Cost) extras(n Need) (missing string) {
	c.Meter = catalog.FargateMeter(n.Platform)
	var ok bool
	if n.StorageGB > 0 {
		if c.Storage, ok = c.Prices.FargateStorage(c.Region); !ok {
			return "Fargate storage"
		}
		c.StorageGB = n.StorageGB
	}
	if n.PublicIP {
		if c.Address, ok = c.Prices.Hourly(c.Region, catalog.PublicIPv4); !ok {
			return "a public IPv4 address: " + catalog.PublicIPv4
		}
	}
	c.ShareHour += c.extraHour()
	c.WholeHour += c.extraHour()
	return ""
}

// extraHour returns the price an hour of what has no Spot price.
func (c *Cost) extraHour() float64 { return c.Storage*float64(c.StorageGB) + c.Address }

// SpotHour returns what the job's share costs an hour on Spot. It reports false where the
// table lacks a Spot price of a machine.
func (c Cost) SpotHour() (sum catalog.PricePeriod, ok bool) {
	for _, l := range c.Lines {
		if (l.Price != catalog.FargatePrice{}) {
			low, high, ok := c.Prices.FargateSpot(c.Region, c.Platform)
			if !ok {
				return sum, false
			}
			sum.Low += (l.VCPUs*low.VCPU + l.GB*low.GB) * float64(l.Nodes)
			sum.High += (l.VCPUs*high.VCPU + l.GB*high.GB) * float64(l.Nodes)
			continue
		}
		price, ok := c.Prices.Spot(c.Region, l.On)
		if !ok {
			return sum, false
		}
		part := float64(l.Nodes) / float64(l.PerInstance)
		sum.Low, sum.High = sum.Low+price.Low*part, sum.High+price.High*part
	}
	sum.Low, sum.High = sum.Low+c.extraHour(), sum.High+c.extraHour()
	return sum, len(c.Lines) > 0
}

// NoSpotPrice returns the message for a job whose SpotHour reports false, with the next step.
func (c Cost) NoSpotPrice() string {
	what := "these machines"
	if len(c.Lines) > 0 {
		what = c.Lines[0].On
	}
	return fmt.Sprintf("no Spot price of %s: add lines of %[2]sTYPE to a price file: --prices FILE", what,
		catalog.SpotItem)
}

// sum sets Least and Most from the hourly prices.
func (c *Cost) sum() {
	c.Least = c.Meter.USD(c.ShareHour, c.Seconds(), c.Children)
	c.Most = c.Meter.Whole().USD(c.WholeHour, c.Seconds(), c.Children*c.Attempts)
	if c.BidPercentage > 0 {
		c.Least *= float64(c.BidPercentage) / 100
		c.Most *= float64(c.BidPercentage) / 100
	}
}

// line returns the hourly price of one part; false if the table has none.
func (c *Cost) line(r EnvironmentFit, part Part, held catalog.Placement, platform string) (CostLine, bool) {
	if r.IsFargate() {
		price, ok := c.Prices.Fargate(c.Region, platform)
		vcpus, memory, fits := catalog.FargateFit(part.VCPUs, part.MemoryMiB)
		if !fits { // AWS rejects it
			vcpus, memory = part.VCPUs, part.MemoryMiB
		}
		l := CostLine{On: "Fargate on " + platform, Nodes: part.Nodes, PerInstance: 1, VCPUs: vcpus,
			GB: float64(memory) / 1024, Price: price}
		l.Hour = l.VCPUs*price.VCPU + l.GB*price.GB
		return l, ok
	}
	hour, ok := c.Prices.Instance(c.Region, held.Instance.Name)
	return CostLine{On: held.Instance.Name, Nodes: part.Nodes, PerInstance: held.PerInstance, Hour: hour}, ok
}

// others finds the price range of the other instance types on which a job of one
// machine fits. AWS Batch chooses among them.
func (c *Cost) others(r EnvironmentFit, n Need) {
	if r.IsFargate() || n.nodes() > 1 {
		return
	}
	c.From = math.Inf(1)
	for _, p := range r.types(n.Parts[0]) {
		hour, ok := c.Prices.Instance(c.Region, p.Instance.Name)
		if !ok || p.Instance.Name == r.Holds[0].Instance.Name {
			continue
		}
		c.Others++
		share := hour / float64(p.PerInstance)
		c.From, c.To = min(c.From, share), max(c.To, share)
	}
	if c.Others == 0 {
		c.From = 0
	}
}
