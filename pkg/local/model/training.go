package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// Training has the members of SageMaker's CreateTrainingJob that the engine applies, and those that it
// cannot provide. The names are those of the API (botocore's model of sagemaker, 2017-07-24). The SDK's
// structures are in a module of their own, which nothing else here needs.
type Training struct {
	Name            string            `json:"TrainingJobName"`
	HyperParameters map[string]string `json:"HyperParameters"`
	Environment     map[string]string `json:"Environment"`
	Algorithm       struct {
		Image       string          `json:"TrainingImage"`
		Name        string          `json:"AlgorithmName"`
		InputMode   string          `json:"TrainingInputMode"`
		Entrypoint  []string        `json:"ContainerEntrypoint"`
		Arguments   []string        `json:"ContainerArguments"`
		ImageConfig json.RawMessage `json:"TrainingImageConfig"`
		Metrics     json.RawMessage `json:"MetricDefinitions"`
	} `json:"AlgorithmSpecification"`
	Channels []struct {
		Name string `json:"ChannelName"`
	} `json:"InputDataConfig"`
	Resources struct {
		InstanceType  string          `json:"InstanceType"`
		InstanceCount int64           `json:"InstanceCount"`
		Groups        []InstanceGroup `json:"InstanceGroups"`
	} `json:"ResourceConfig"`
	Stopping struct {
		MaxRuntime int32 `json:"MaxRuntimeInSeconds"`
	} `json:"StoppingCondition"`
	Isolated bool `json:"EnableNetworkIsolation"`
	// Others are the members that are given and not listed here.
	Others []string `json:"-"`
}

// InstanceGroup is a number of instances of one type.
type InstanceGroup struct {
	InstanceType  string `json:"InstanceType"`
	InstanceCount int64  `json:"InstanceCount"`
	Name          string `json:"InstanceGroupName"`
}

// ParseTraining returns the training job of a payload. AWS Batch passes it on without validation (user
// guide, "Service job payloads"), so only a text that is no such object is an error.
func ParseTraining(payload string) (*Training, error) {
	v, all := &Training{}, map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(payload), v); err != nil {
		return nil, fmt.Errorf("serviceRequestPayload is not a CreateTrainingJob request: %w", err)
	}
	if err := json.Unmarshal([]byte(payload), &all); err != nil {
		return nil, fmt.Errorf("serviceRequestPayload is not a CreateTrainingJob request: %w", err)
	}
	for name := range all {
		v.Others = append(v.Others, name)
	}
	slices.Sort(v.Others)
	return v, nil
}

// Instances returns the instances that the job asks for.
func (v *Training) Instances() []InstanceGroup {
	if len(v.Resources.Groups) > 0 {
		return v.Resources.Groups
	}
	if v.Resources.InstanceCount == 0 {
		return nil
	}
	return []InstanceGroup{{InstanceType: v.Resources.InstanceType, InstanceCount: v.Resources.InstanceCount}}
}

// instanceCount returns the number of instances.
func (v *Training) instanceCount() (n int64) {
	for _, g := range v.Instances() {
		n += g.InstanceCount
	}
	return n
}

// Unit returns the instance type, or all types of a heterogeneous cluster.
func (v *Training) Unit() string {
	var all []string
	for _, g := range v.Instances() {
		if !slices.Contains(all, g.InstanceType) {
			all = append(all, g.InstanceType)
		}
	}
	return strings.Join(all, ",")
}

// gpus returns the number of GPUs of the job's instance. A job with several instances does not run here.
func (v *Training) gpus() int64 {
	t, _ := (*catalog.Catalog)(nil).Lookup(strings.TrimPrefix(v.Resources.InstanceType, "ml."))
	return int64(t.GPUs)
}

// defaultRuntime is SageMaker's limit in seconds for a job without MaxRuntimeInSeconds: one day (API
// reference of StoppingCondition).
const defaultRuntime = 86400

// maxRuntime returns SageMaker's limit on the duration of the job in seconds.
func (v *Training) maxRuntime() int32 { return cmp.Or(v.Stopping.MaxRuntime, defaultRuntime) }

// unprovided are the members, besides those of Training, without which a job would compute something
// else.
var unprovided = []string{"CheckpointConfig", "ServerlessJobConfig", "VpcConfig"}

// applied are the members of the request that the engine applies, or of which it reports the parts.
var applied = []string{"AlgorithmSpecification", "EnableNetworkIsolation", "Environment", "HyperParameters",
	"InputDataConfig",
	"ResourceConfig", "StoppingCondition", "TrainingJobName"}

// isStrange reports whether SageMaker rejects a character in a name: it allows letters, digits and hyphens.
func isStrange(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
}

// Unprovided returns the members that this machine cannot provide; such a job does not start.
func (v *Training) Unprovided() []string {
	var names []string
	add := func(given bool, name string) {
		if given {
			names = append(names, name)
		}
	}
	a, r := &v.Algorithm, &v.Resources
	add(strings.ContainsFunc(v.Name, isStrange), fmt.Sprintf("TrainingJobName %q", v.Name))
	for _, name := range slices.Sorted(maps.Keys(v.Environment)) {
		bad := name == "" || strings.ContainsFunc(name, func(c rune) bool {
			return c == '-' || c != '_' &&
				isStrange(c)
		})
		add(bad || strings.Contains(v.Environment[name], "\x00"), fmt.Sprintf("Environment (variable %q)", name))
	}
	add(a.Image == "" && a.Name == "", "AlgorithmSpecification without TrainingImage")
	add(a.Name != "", "AlgorithmSpecification.AlgorithmName")
	add(len(a.ImageConfig) > 0, "AlgorithmSpecification.TrainingImageConfig")
	add(a.InputMode == "Pipe", "TrainingInputMode Pipe")
	for _, c := range v.Channels {
		add(true, "InputDataConfig (channel "+c.Name+")")
	}
	add(len(r.Groups) > 0, "ResourceConfig.InstanceGroups")
	add(len(r.Groups) == 0 && r.InstanceCount == 0 && !slices.Contains(v.Others, "ServerlessJobConfig"),
		"ResourceConfig without InstanceCount")
	add(r.InstanceCount > 1, fmt.Sprintf("ResourceConfig.InstanceCount %d", r.InstanceCount))
	family := strings.TrimPrefix(r.InstanceType, "ml.")
	add(strings.HasPrefix(family, "trn") || strings.HasPrefix(family, "inf"),
		"ResourceConfig.InstanceType "+r.InstanceType+" (no such accelerator)")
	for _, name := range v.Others {
		add(slices.Contains(unprovided, name), name)
	}
	return names
}

// Unhonoured returns the members that have no effect on this machine.
func (v *Training) Unhonoured() []string {
	var names []string
	if len(v.Algorithm.Metrics) > 0 {
		names = append(names, "AlgorithmSpecification.MetricDefinitions")
	}
	for _, name := range v.Others {
		if !slices.Contains(applied, name) && !slices.Contains(unprovided, name) {
			names = append(names, name)
		}
	}
	if v.Resources.InstanceType != "" {
		names = append(names, "ResourceConfig.InstanceType (the container gets this machine's CPUs and memory)")
	}
	return names
}
