package templates

import (
	"slices"
	"strings"
)

// direction is the rules of a security group, or of a rule that is a resource of its own.
func direction(r resource, which string) []any {
	if r.kind == "AWS::EC2::SecurityGroup"+which {
		return []any{r.properties}
	}
	return list(r.properties["SecurityGroup"+which])
}

func both(r resource) []any {
	return slices.Concat(direction(r, "Ingress"), direction(r, "Egress"))
}

// one is a finding without a place where bad, and none otherwise.
func one(bad bool) []string {
	if bad {
		return []string{""}
	}
	return nil
}

func toWorld(rule any) bool {
	return at(rule, "CidrIp") == "0.0.0.0/0" || at(rule, "CidrIpv6") == "::/0"
}

// ingressWorld allows no range of addresses at all: who comes in is a security group.
func ingressWorld(r resource) []string {
	return one(slices.ContainsFunc(direction(r, "Ingress"), func(rule any) bool {
		return at(rule, "CidrIp") != nil || at(rule, "CidrIpv6") != nil
	}))
}

func egressWorld(r resource) []string {
	return one(slices.ContainsFunc(direction(r, "Egress"), toWorld))
}

func portRange(r resource) []string {
	return one(slices.ContainsFunc(both(r), func(rule any) bool { return at(rule, "FromPort") != at(rule, "ToPort") }))
}

func allProtocols(r resource) []string {
	return one(slices.ContainsFunc(both(r), func(rule any) bool {
		p := at(rule, "IpProtocol")
		return p == "-1" || p == float64(-1)
	}))
}

// noEgress reports a group without an egress rule, which allows all outgoing traffic.
func noEgress(r resource) []string {
	return one(r.kind == "AWS::EC2::SecurityGroup" && len(direction(r, "Egress")) == 0)
}

func noDescription(r resource) []string {
	bare := slices.ContainsFunc(both(r), func(rule any) bool { return at(rule, "Description") == nil })
	return one(bare || r.kind == "AWS::EC2::SecurityGroup" && r.properties["GroupDescription"] == nil)
}

func publicAddress(r resource) (places []string) {
	walk(r.properties, func(v any) {
		if at(v, "MapPublicIpOnLaunch") == true || at(v, "AssociatePublicIpAddress") == true {
			places = one(true)
		}
	})
	return places
}

func imds(r resource) []string {
	options := r.properties["InstanceMetadataOptions"]
	switch r.kind {
	case "AWS::EC2::LaunchTemplate":
		options = at(r.properties, "LaunchTemplateData", "MetadataOptions")
	case "AWS::ImageBuilder::InfrastructureConfiguration":
	default:
		return nil
	}
	hops := at(options, "HttpPutResponseHopLimit")
	return one(at(options, "HttpTokens") != "required" || hops != float64(1) && at(hops, "Ref") != "HopLimit")
}

func plainVolume(r resource) []string {
	mappings := slices.Concat(list(at(r.properties, "LaunchTemplateData", "BlockDeviceMappings")), list(r.properties["BlockDeviceMappings"]))
	if (r.kind == "AWS::EC2::LaunchTemplate" || r.kind == "AWS::ImageBuilder::ImageRecipe") && len(mappings) == 0 {
		return one(true)
	}
	return one(slices.ContainsFunc(mappings, func(m any) bool { return at(m, "Ebs", "Encrypted") != true || at(m, "Ebs", "VolumeType") != "gp3" }))
}

func keyPair(r resource) (places []string) {
	walk(r.properties, func(v any) {
		if at(v, "KeyName") != nil || at(v, "Ec2KeyPair") != nil || at(v, "KeyPair") != nil {
			places = one(true)
		}
	})
	return places
}

func privileged(r resource) (places []string) {
	walk(r.properties, func(v any) {
		if at(v, "Privileged") == true {
			places = one(true)
		}
	})
	return places
}

func repository(r resource, good bool) []string {
	return one(r.kind == "AWS::ECR::Repository" && !good)
}

func ecrScan(r resource) []string {
	return repository(r, at(r.properties, "ImageScanningConfiguration", "ScanOnPush") == true)
}

func ecrMutable(r resource) []string {
	return repository(r, r.properties["ImageTagMutability"] == "IMMUTABLE")
}

func ecrKMS(r resource) []string {
	kind, _ := at(r.properties, "EncryptionConfiguration", "EncryptionType").(string)
	return repository(r, strings.HasPrefix(kind, "KMS"))
}

func ecrLifecycle(r resource) []string {
	return repository(r, at(r.properties, "LifecyclePolicy", "LifecyclePolicyText") != nil)
}

func logsForEver(r resource) []string {
	return one(r.kind == "AWS::Logs::LogGroup" && r.properties["RetentionInDays"] == nil)
}

func logsKMS(r resource) []string {
	return one(r.kind == "AWS::Logs::LogGroup" && !always(r.properties["KmsKeyId"]))
}

func secretKMS(r resource) []string {
	return one(r.kind == "AWS::SecretsManager::Secret" && !always(r.properties["KmsKeyId"]))
}
