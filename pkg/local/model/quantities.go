package model

import (
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Resources of a container of a pod (API reference of EksContainerResourceRequirements).
const (
	podCPU    = "cpu"
	podMemory = "memory"
	podGPU    = "nvidia.com/gpu"
)

// CheckQuantities returns Batch's error for the resources of a container of a pod, nil if Batch
// accepts them. Most texts are quoted from the service, see the rules eks-cpu-quarter, eks-memory-unit,
// eks-gpu-integer and eks-resource-keys.
func CheckQuantities(r *types.EksContainerResourceRequirements) *wire.Fault {
	if r == nil {
		r = &types.EksContainerResourceRequirements{}
	}
	for _, list := range []map[string]string{r.Limits, r.Requests} {
		for kind, text := range list {
			if err := checkQuantity(kind, text); err != nil {
				return err
			}
		}
	}
	for _, kind := range []string{podCPU, podMemory, podGPU} {
		limit, limited := r.Limits[kind]
		request, requested := r.Requests[kind]
		short := strings.TrimPrefix(kind, "nvidia.com/")
		switch {
		case !limited && !requested && kind != podGPU:
			return wire.ClientException("%s must be provided in limits or requests of the resources of a container of a pod.", kind)
		case !limited || !requested:
		case kind == podCPU && milliCPU(request) > milliCPU(limit):
			return wire.ClientException("cpu request must be <= to cpu limit if both are provided.")
		case kind != podCPU && quantity(request) != quantity(limit):
			return wire.ClientException("%s request must be equal to %s limit if both are provided.", short, short)
		}
	}
	return nil
}

// checkQuantity returns Batch's error for the quantity of one resource.
func checkQuantity(kind, text string) *wire.Fault {
	whole := func(text string) (int64, bool) {
		n, err := strconv.ParseUint(text, 10, 31)
		return int64(n), err == nil
	}
	switch kind {
	case podCPU:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0 && v <= 1<<20) || v*4 != math.Trunc(v*4) {
			return wire.ClientException("Value %s for type cpu in resources is not valid. Provide a valid number and unit.", text)
		}
	case podMemory:
		number, mebi := strings.CutSuffix(text, "Mi")
		n, ok := whole(number)
		if !mebi || !ok {
			return wire.ClientException("Value %s for type memory is not valid.", text)
		}
		if n < 4 {
			return wire.ClientException("Memory must be at least 4 Mib, got %d Mib.", n)
		}
	case podGPU:
		if _, ok := whole(text); !ok {
			return wire.ClientException("Value %s for type nvidia.com/gpu in resources is not valid.", text)
		}
	default:
		return wire.ClientException("%s is not a supported type for resources.", kind)
	}
	return nil
}

// quantitiesOf returns what a container of a pod reserves: its requests, and its limits where it requests
// nothing, as in Kubernetes. An invalid one counts as 0.
func quantitiesOf(c *types.EksContainerDetail) Amount {
	if c.Resources == nil {
		return Amount{}
	}
	reserved := func(kind string) string {
		if text, ok := c.Resources.Requests[kind]; ok {
			return text
		}
		return c.Resources.Limits[kind]
	}
	return Amount{MilliCPU: milliCPU(reserved(podCPU)), MemoryMiB: mebibytes(reserved(podMemory)),
		GPUs: int64(quantity(reserved(podGPU)))}
}

// suffixes are the units of quantities in Kubernetes.
var suffixes = []struct {
	text   string
	factor float64
}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9},
	{"T", 1e12}}

// quantity parses a quantity of Kubernetes. It is 0 for an invalid one, and for one that no machine has.
func quantity(text string) float64 {
	factor := 1.0
	for _, s := range suffixes {
		if number, ok := strings.CutSuffix(text, s.text); ok {
			text, factor = number, s.factor
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v*factor <= 1<<50) {
		return 0
	}
	return v * factor
}

// milliCPU returns a quantity of CPUs in thousandths.
func milliCPU(text string) int64 { return int64(min(math.Ceil(quantity(text)*1000), 1<<30)) }

// mebibytes returns a quantity of bytes in MiB, rounded up.
func mebibytes(text string) int64 { return int64(min(math.Ceil(quantity(text)/(1<<20)), 1<<30)) }

// podNeed returns what a pod reserves: the sum of its containers, or the largest of its init containers, which
// run before them (Kubernetes documentation, "Init Containers", resource sharing).
func podNeed(all []Part) (need Amount) {
	var first Amount
	for i := range all {
		one, err := Requested(all[i].Container)
		switch {
		case err != nil: // quantitiesOf gives only valid values
		case all[i].Pod.Init:
			first = first.most(one)
		default:
			need = need.plus(one)
		}
	}
	return need.most(first)
}

// userOf returns the user of a security context in the form USER:GROUP; nil means the image's.
func userOf(s *types.EksContainerSecurityContext) *string {
	if s.RunAsUser == nil {
		return nil // a group alone is named by PodGaps
	}
	user := strconv.FormatInt(*s.RunAsUser, 10)
	if s.RunAsGroup != nil {
		user += ":" + strconv.FormatInt(*s.RunAsGroup, 10)
	}
	return &user
}

// PodGaps returns the members of a pod without which it must not run and which this machine cannot
// provide. contained means that its containers run in containers: processes ignore users and groups,
// which a notice reports.
func PodGaps(pod *types.EksPodPropertiesDetail, contained bool) (gaps []string) {
	add := func(given bool, what string) {
		if given {
			gaps = append(gaps, what)
		}
	}
	volumes := map[string]*types.EksVolume{}
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		name := aws.ToString(v.Name)
		volumes[name] = v
		// An optional secret that does not exist gives an empty directory in Kubernetes; its mount is below.
		add(v.Secret != nil, "the secret of volume "+name)
		add(v.PersistentVolumeClaim != nil, "the persistentVolumeClaim of volume "+name)
	}
	add(contained && aws.ToBool(pod.ShareProcessNamespace) && len(pod.Containers)+len(pod.InitContainers) > 1,
		"shareProcessNamespace of several containers")
	container := func(c *types.EksContainerDetail) {
		of := " of container " + batch.PodContainer(c.Name)
		if s := c.SecurityContext; s != nil && contained {
			add(s.RunAsGroup != nil && s.RunAsUser == nil, "securityContext.runAsGroup without runAsUser"+of)
			add(aws.ToBool(s.RunAsNonRoot) && aws.ToInt64(s.RunAsUser) == 0,
				"securityContext.runAsNonRoot without a runAsUser other than 0"+of)
		}
		for _, m := range c.VolumeMounts {
			name, sub := aws.ToString(m.Name), aws.ToString(m.SubPath)
			v := volumes[name]
			add(v == nil, "volume "+name+" for volumeMounts"+of+": the pod has no such volume")
			add(v != nil && v.EmptyDir != nil && !contained, "emptyDir volume "+name+of+" for a process")
			if v == nil || !contained {
				continue
			}
			add(v.EmptyDir != nil && sub != "", "subPath "+sub+" in emptyDir volume "+name+of)
			add(v.HostPath != nil && sub != "" && (path.IsAbs(sub) || strings.Contains("/"+sub+"/", "/../")),
				"subPath "+sub+" outside of volume "+name+of)
			add(v.EmptyDir == nil && v.HostPath == nil && v.Secret == nil && v.PersistentVolumeClaim == nil,
				"volume "+name+": it has no source")
		}
	}
	for i := range pod.InitContainers {
		container(&pod.InitContainers[i])
	}
	for i := range pod.Containers {
		container(&pod.Containers[i])
	}
	return gaps
}
