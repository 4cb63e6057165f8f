package catalog

import "slices"

// Items of a price file that cost money by the hour while they exist, used or not.
const (
	// NATGateway is one gateway, without its traffic.
	NATGateway = "nat-gateway"
	// PublicIPv4 is one address, in use or not.
	PublicIPv4 = "public-ipv4"
	// VPCEndpoint is an interface endpoint in one availability zone, without its traffic.
	VPCEndpoint = "vpc-endpoint"
)

// HourlyItems returns the items that cost money by the hour while they exist.
func HourlyItems() []string { return []string{NATGateway, PublicIPv4, VPCEndpoint} }

// Hourly returns the price of one of HourlyItems in US dollars an hour.
func (p *Prices) Hourly(region, item string) (usd float64, ok bool) {
	usd, ok = p.orCarried().regions[region][item]
	return usd, ok
}

// HoursPerMonth is the length of a month in AWS's own examples and calculator.
const HoursPerMonth = 730

// MonthItem is the prefix of an item in a price file whose figure is US dollars a month, and GBItem of one whose
// figure is US dollars for each GB.
const (
	MonthItem = "month:"
	GBItem    = "gb:"
)

// Items with a price a month.
const (
	Secret    = MonthItem + "secret"
	KMSKey    = MonthItem + "kms-key"
	Alarm     = MonthItem + "alarm"
	Dashboard = MonthItem + "dashboard"
	Metric    = MonthItem + "metric"
	// LogStorage, ImageStorage and ObjectStorage are a GB in CloudWatch Logs, ECR and S3.
	LogStorage    = MonthItem + "log-gb"
	ImageStorage  = MonthItem + "image-gb"
	ObjectStorage = MonthItem + "object-gb"
	// volumePart begins the items of a volume: its type and what of it costs money.
	volumePart = MonthItem + "ebs-"
)

// Items with a price for each GB of traffic: that a NAT gateway and an interface endpoint forward, and that
// CloudWatch Logs receives.
const (
	NATTraffic      = GBItem + "nat-gateway"
	EndpointTraffic = GBItem + "vpc-endpoint"
	LogTraffic      = GBItem + "log"
)

// pricedVolumes are the items of each type of volume: a GB, and on gp3 an IOPS and a MiB a second beyond
// what is free.
func pricedVolumes() []string {
	return []string{"gp2-gb", "gp3-gb", "gp3-iops", "gp3-mibps", "st1-gb", "sc1-gb", "standard-gb"}
}

// MonthlyItems returns the items with a price a month or for each GB.
func MonthlyItems() []string {
	items := []string{Secret, KMSKey, Alarm, Dashboard, Metric, LogStorage, ImageStorage, ObjectStorage, NATTraffic,
		EndpointTraffic, LogTraffic}
	for _, part := range pricedVolumes() {
		items = append(items, volumePart+part)
	}
	return items
}

// Monthly returns the price of one of MonthlyItems in US dollars: a month, or for each GB.
func (p *Prices) Monthly(region, item string) (usd float64, ok bool) {
	usd, ok = p.orCarried().regions[region][item]
	return usd, ok && slices.Contains(MonthlyItems(), item)
}

// gp3 includes this performance in the price of its GB (EBS pricing page).
const (
	gp3FreeIOPS  = 3000
	gp3FreeMiBps = 125
)

// Volume is an EBS volume: its type, such as gp3, its size in GB, and the performance that it has beyond that of
// its type; 0 for none.
type Volume struct {
	Type            string
	GB, IOPS, MiBps float64
}

// VolumeMonth returns the price of a volume in US dollars a month.
func (p *Prices) VolumeMonth(region string, v Volume) (usd float64, ok bool) {
	price := func(part string) float64 {
		usd, known := p.Monthly(region, volumePart+v.Type+"-"+part)
		ok = ok && known
		return usd
	}
	ok = true
	usd = v.GB * price("gb")
	if v.Type == "gp3" && v.IOPS > gp3FreeIOPS {
		usd += (v.IOPS - gp3FreeIOPS) * price("iops")
	}
	if v.Type == "gp3" && v.MiBps > gp3FreeMiBps {
		usd += (v.MiBps - gp3FreeMiBps) * price("mibps")
	}
	return usd, ok
}
