package infra

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// quote is what a resource costs a month in US dollars, whether it is used or not.
type quote struct {
	// what names the resource in the singular, and how adds what its price depends on.
	what, how string
	// low and high are equal unless the price depends on a choice of AWS.
	low, high float64
	// unknown says why there is no price; "" where low and high are known.
	unknown string
	// usage names costs that depend on use.
	usage []string
}

// quoting returns the quotes of the resources of one template.
type quoting struct {
	prices *catalog.Prices
	region string
	of     *Evaluation
}

// freeTypes are the types of resources that cost nothing themselves. A type that ends in "::" stands for all that
// begin with it.
var freeTypes = []string{
	"AWS::IAM::", "AWS::Budgets::Budget", "AWS::ImageBuilder::Component", "AWS::ImageBuilder::ImageRecipe",
	"AWS::ImageBuilder::InfrastructureConfiguration",
	"AWS::ImageBuilder::DistributionConfiguration", "AWS::Batch::JobDefinition", "AWS::Batch::JobQueue",
	"AWS::Batch::SchedulingPolicy", "AWS::Batch::ConsumableResource",
	"AWS::EC2::VPC", "AWS::EC2::VPCCidrBlock", "AWS::EC2::Subnet", "AWS::EC2::RouteTable", "AWS::EC2::Route",
	"AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::InternetGateway",
	"AWS::EC2::EgressOnlyInternetGateway", "AWS::EC2::VPCGatewayAttachment", "AWS::EC2::SecurityGroup",
	"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::LaunchTemplate",
	"AWS::EC2::PlacementGroup", "AWS::EC2::NetworkAcl", "AWS::EC2::NetworkAclEntry",
	"AWS::EC2::SubnetNetworkAclAssociation", "AWS::EC2::DHCPOptions", "AWS::EC2::VPCDHCPOptionsAssociation",
	"AWS::EC2::KeyPair", "AWS::EC2::EIPAssociation", "AWS::EC2::VolumeAttachment", "AWS::ECS::TaskDefinition",
	"AWS::ECS::CapacityProvider", "AWS::ECS::ClusterCapacityProviderAssociations",
	"AWS::ECR::RegistryPolicy", "AWS::Events::Rule", "AWS::Events::EventBusPolicy", "AWS::Logs::ResourcePolicy",
	"AWS::S3::BucketPolicy", "AWS::SNS::Subscription", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy",
	"AWS::SecretsManager::ResourcePolicy", "AWS::SecretsManager::SecretTargetAttachment", "AWS::KMS::Alias",
	"AWS::AutoScaling::ScalingPolicy", "AWS::AutoScaling::LaunchConfiguration",
	"AWS::Lambda::Permission", "AWS::CloudFormation::WaitConditionHandle",
}

// quote returns what a resource costs.
func (q quoting) quote(r EvaluatedResource) quote {
	isFree := func(t string) bool { return r.Type == t || strings.HasSuffix(t, "::") && strings.HasPrefix(r.Type, t) }
	switch r.Type {
	case "AWS::EC2::NatGateway":
		return q.hourly("NAT gateway", "", catalog.NATGateway, 1, q.each("traffic through the NAT gateway",
			catalog.NATTraffic, "GB"))
	case "AWS::EC2::EIP":
		return q.hourly("public IPv4 address", "", catalog.PublicIPv4, 1)
	case "AWS::EC2::VPCEndpoint":
		return q.endpoint(r)
	case "AWS::EC2::Volume":
		return q.volume(r.properties, "Size")
	case "AWS::EC2::Instance":
		return q.instance(r)
	case "AWS::Batch::ComputeEnvironment":
		return q.environment(r)
	case "AWS::AutoScaling::AutoScalingGroup":
		return q.group(r)
	case "AWS::SecretsManager::Secret":
		return q.monthly("secret", catalog.Secret)
	case "AWS::KMS::Key", "AWS::KMS::ReplicaKey":
		return q.monthly("KMS key", catalog.KMSKey)
	case "AWS::CloudWatch::Alarm":
		return q.alarm(r)
	case "AWS::CloudWatch::Dashboard":
		return q.monthly("dashboard", catalog.Dashboard)
	case "AWS::Logs::MetricFilter":
		return quote{usage: []string{q.each("metrics with data", catalog.Metric, "metric a month")}}
	case "AWS::Logs::LogGroup":
		return quote{usage: []string{q.each("logs that arrive", catalog.LogTraffic, "GB"),
			q.each("logs that are kept", catalog.LogStorage, "GB a month")}}
	case "AWS::ECR::Repository":
		return quote{usage: []string{q.each("images", catalog.ImageStorage, "GB a month")}}
	case "AWS::S3::Bucket":
		return quote{usage: []string{q.each("objects", catalog.ObjectStorage, "GB a month"), "requests to the bucket"}}
	case "AWS::SNS::Topic":
		return quote{usage: []string{"notifications"}}
	case "AWS::ImageBuilder::ImagePipeline", "AWS::ImageBuilder::Image":
		return quote{usage: []string{"instances that build images", "snapshots of the images"}}
	case "AWS::ECS::Cluster":
		return q.cluster(r)
	case "AWS::SSM::Parameter":
		if tier := r.get("Tier").str(); tier == "" || tier == "Standard" {
			return quote{}
		}
	default:
		if slices.ContainsFunc(freeTypes, isFree) {
			return quote{}
		}
	}
	return quote{unknown: "batchctl does not know what " + strings.TrimPrefix(r.Type, "AWS::") + " costs"}
}

// noPrice says that the table lacks a price.
func (q quoting) noPrice(what string) string {
	return fmt.Sprintf("no price of %s in %s (%s)", what, q.region, q.prices)
}

// hourly returns the quote of resources that are billed by the hour.
func (q quoting) hourly(what, how, item string, count int, usage ...string) quote {
	usd, ok := q.prices.Hourly(q.region, item)
	if !ok {
		return quote{unknown: q.noPrice(item), usage: usage}
	}
	usd *= float64(count) * catalog.HoursPerMonth
	return quote{what: what, how: how, low: usd, high: usd, usage: usage}
}

// monthly returns the quote of a resource that is billed by the month.
func (q quoting) monthly(what, item string, usage ...string) quote {
	usd, ok := q.prices.Monthly(q.region, item)
	if !ok {
		return quote{unknown: q.noPrice(what), usage: usage}
	}
	return quote{what: what, low: usd, high: usd, usage: usage}
}

// alarm returns the quote of an alarm, which costs the same for each metric that it watches.
func (q quoting) alarm(r EvaluatedResource) quote {
	out := q.monthly("alarm", catalog.Alarm)
	metrics, _ := r.get("Metrics").list()
	metrics = slices.DeleteFunc(metrics, func(m value) bool { return m.get("MetricStat").isAbsent() })
	if n := len(metrics); n > 1 {
		out.how, out.low, out.high = fmt.Sprintf(" on %d metrics", n), out.low*float64(n), out.high*float64(n)
	}
	return out
}

// each names a cost of use with its price, if the table has it: "images, 0.1 USD for each GB a month".
func (q quoting) each(what, item, unit string) string {
	usd, ok := q.prices.Monthly(q.region, item)
	if !ok {
		return what + ", price unknown in " + q.region
	}
	return fmt.Sprintf("%s, %s USD for each %s", what, strconv.FormatFloat(usd, 'f', -1, 64), unit)
}

// endpoint returns the quote of a VPC endpoint. Gateway endpoints are free.
func (q quoting) endpoint(r EvaluatedResource) quote {
	switch kind := r.get("VpcEndpointType"); {
	case kind.str() == "Interface":
	case kind.str() == "Gateway" || kind.isAbsent():
		return quote{}
	default:
		return quote{unknown: "the price of this type of VPC endpoint is unknown"}
	}
	subnets, ok := r.get("SubnetIds").list()
	if !ok {
		return quote{unknown: "an interface endpoint costs money in each zone, and its subnets are unknown"}
	}
	how := " in 1 zone"
	if len(subnets) != 1 {
		how = fmt.Sprintf(" in %d zones", len(subnets))
	}
	return q.hourly("interface endpoint", how, catalog.VPCEndpoint, len(subnets),
		q.each("traffic through interface endpoints", catalog.EndpointTraffic, "GB"))
}

// number returns a number of a template, which can be a text.
func number(v value) (float64, bool) {
	text, ok := v.text()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && n >= 0
}

// orNumber returns a number of a template; fallback for an absent one.
func orNumber(v value, fallback float64) (float64, bool) {
	if v.isAbsent() {
		return fallback, true
	}
	return number(v)
}

// volume returns the quote of an EBS volume, whose size is the member of that name.
func (q quoting) volume(of value, sizeMember string) quote {
	v := catalog.Volume{Type: "gp2"}
	okType := true
	if kind := of.get("VolumeType"); !kind.isAbsent() {
		v.Type, okType = kind.text()
	}
	var okSize, okIOPS, okThroughput, ok bool
	v.GB, okSize = number(of.get(sizeMember))
	v.IOPS, okIOPS = orNumber(of.get("Iops"), 0)
	v.MiBps, okThroughput = orNumber(of.get("Throughput"), 0)
	if !okType || !okSize || !okIOPS || !okThroughput {
		return quote{unknown: "batchctl does not know the size and type of a volume"}
	}
	usd, ok := q.prices.VolumeMonth(q.region, v)
	if !ok {
		return quote{unknown: q.noPrice(v.Type + " volumes")}
	}
	return quote{what: "volume", how: fmt.Sprintf(" of %s GB, %s", strconv.FormatFloat(v.GB, 'f', -1, 64), v.Type),
		low: usd, high: usd}
}

// instance returns the quote of an instance that runs all the time, with its volumes.
func (q quoting) instance(r EvaluatedResource) quote {
	name := r.get("InstanceType").str()
	usd, ok := q.prices.Instance(q.region, name)
	if !ok {
		return quote{unknown: q.noPrice("an instance " + name)}
	}
	out := quote{what: "instance", how: " " + name, low: usd * catalog.HoursPerMonth, high: usd * catalog.HoursPerMonth}
	devices, _ := r.get("BlockDeviceMappings").list()
	if len(devices) == 0 {
		out.usage = append(out.usage, "the root volume of the instance")
	}
	for _, d := range devices {
		disk := q.volume(d.get("Ebs"), "VolumeSize")
		if disk.unknown != "" {
			return disk
		}
		out.low, out.high = out.low+disk.low, out.high+disk.high
	}
	return out
}

// cluster returns the quote of an ECS cluster, which costs money only for Container Insights.
func (q quoting) cluster(r EvaluatedResource) (out quote) {
	settings, _ := r.get("ClusterSettings").list()
	for _, s := range settings {
		if s.get("Name").str() == "containerInsights" && s.get("Value").str() != "disabled" {
			out.usage = append(out.usage, "metrics of Container Insights")
		}
	}
	return out
}

// environment returns the quote of a compute environment of AWS Batch: the instances that minvCpus keeps.
func (q quoting) environment(r EvaluatedResource) quote {
	resources := r.get("ComputeResources")
	kind := resources.get("Type").str()
	usage := []string{"instances and their volumes while jobs run"}
	switch {
	case resources.isAbsent() && r.get("Type").str() == "UNMANAGED":
		return quote{}
	case strings.HasPrefix(kind, "FARGATE"):
		return quote{usage: []string{"Fargate while jobs run"}}
	}
	least, ok := orNumber(resources.get("MinvCpus"), 0)
	switch {
	case ok && least == 0:
		return quote{usage: usage}
	case !ok:
		return quote{unknown: "batchctl does not know minvCpus of a compute environment", usage: usage}
	}
	out := quote{what: "compute environment", how: fmt.Sprintf(", %s vCPUs of minvCpus always on",
		strconv.FormatFloat(least, 'f', -1, 64)), low: math.Inf(1), usage: usage}
	entries, _ := resources.get("InstanceTypes").list()
	var types *catalog.Catalog
	for _, entry := range entries {
		for _, t := range types.Expand(entry.str()) {
			low, high, known := q.instanceHour(t.Name, kind == "SPOT")
			if !known {
				return quote{unknown: q.noPrice(t.Name + map[bool]string{true: " on Spot"}[kind == "SPOT"]),
					usage: usage}
			}
			hosts := math.Ceil(least/float64(t.VCPUs)) * catalog.HoursPerMonth
			out.low, out.high = min(out.low, hosts*low), max(out.high, hosts*high)
		}
	}
	if math.IsInf(out.low, 1) {
		return quote{unknown: "batchctl does not know the instance types that minvCpus keeps running", usage: usage}
	}
	return out
}

// instanceHour returns the range of the price of an instance type, on demand or on Spot.
func (q quoting) instanceHour(name string, spot bool) (low, high float64, ok bool) {
	if spot {
		p, ok := q.prices.Spot(q.region, name)
		return p.Low, p.High, ok
	}
	usd, ok := q.prices.Instance(q.region, name)
	return usd, usd, ok
}

// group returns the quote of an Auto Scaling group: the instances that it always has.
func (q quoting) group(r EvaluatedResource) quote {
	usage := []string{"instances and their volumes while tasks run"}
	least, ok := orNumber(r.get("MinSize"), 0)
	if wanted, has := number(r.get("DesiredCapacity")); has {
		least = max(least, wanted)
	}
	switch {
	case ok && least == 0:
		return quote{usage: usage}
	case !ok:
		return quote{unknown: "batchctl does not know MinSize of an Auto Scaling group", usage: usage}
	}
	id := r.get("LaunchTemplate").get("LaunchTemplateId").str()
	template, _ := q.of.resource(strings.TrimPrefix(id, idOf("")))
	name := template.get("LaunchTemplateData").get("InstanceType").str()
	usd, ok := q.prices.Instance(q.region, name)
	if !ok {
		return quote{unknown: q.noPrice("the instances that an Auto Scaling group keeps running"), usage: usage}
	}
	usd *= least * catalog.HoursPerMonth
	return quote{what: "Auto Scaling group", how: fmt.Sprintf(", %s x %s always on",
		strconv.FormatFloat(least, 'f', -1, 64), name), low: usd, high: usd, usage: usage}
}
