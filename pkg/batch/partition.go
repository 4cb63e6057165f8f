package batch

import (
	"slices"
	"strings"
)

// Partition is a group of Regions with its own ARNs and domain.
type Partition struct {
	// regions is the prefix of the names of its Regions.
	regions string
	// Name is the second part of an ARN: aws, aws-cn, aws-us-gov.
	Name string
	// Suffix ends the names of endpoints; Home is the Region that global services sign for.
	Suffix, Home string
}

// partitions are those of the AWS General Reference and of the SDKs; the last has all other Regions.
var partitions = [...]Partition{
	{"cn-", "aws-cn", "amazonaws.com.cn", "cn-north-1"},
	{"us-gov-", "aws-us-gov", "amazonaws.com", "us-gov-west-1"},
	{"us-iso-", "aws-iso", "c2s.ic.gov", "us-iso-east-1"},
	{"us-isob-", "aws-iso-b", "sc2s.sgov.gov", "us-isob-east-1"},
	{"us-isof-", "aws-iso-f", "csp.hci.ic.gov", "us-isof-south-1"},
	{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk", "eu-isoe-west-1"},
	{"eusc-", "aws-eusc", "amazonaws.eu", "eusc-de-east-1"},
	{"", "aws", "amazonaws.com", "us-east-1"},
}

// PartitionOf returns the partition of a Region. An unknown Region is in the standard one.
func PartitionOf(region string) Partition {
	i := slices.IndexFunc(partitions[:], func(p Partition) bool { return strings.HasPrefix(region, p.regions) })
	return partitions[i]
}
