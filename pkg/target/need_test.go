package target

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/wire"
)

// TestPlanAndEngineNeedTheSame checks that plan computes for a job what the engine reserves for it: for containers,
// tasks with several containers, and nodes, each with any overrides.
func TestPlanAndEngineNeedTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requirements := func(label string) (all []types.ResourceRequirement) {
			for _, kind := range []types.ResourceType{types.ResourceTypeVcpu, types.ResourceTypeMemory, types.ResourceTypeGpu} {
				if n := rapid.IntRange(0, 4).Draw(t, label); n > 0 {
					all = append(all, types.ResourceRequirement{Type: kind, Value: aws.String(strconv.Itoa(n))})
				}
			}
			return all
		}
		whole := func() []types.ResourceRequirement {
			return []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String(strconv.Itoa(rapid.IntRange(1, 8).Draw(t, "vCPUs")))},
				{Type: types.ResourceTypeMemory, Value: aws.String(strconv.Itoa(rapid.IntRange(4, 8192).Draw(t, "memory")))}}
		}
		task := func() *types.EcsProperties {
			e := types.EcsTaskProperties{}
			for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
				e.Containers = append(e.Containers, types.TaskContainerProperties{Name: aws.String(fmt.Sprint("c", i)), Image: aws.String("i"), ResourceRequirements: whole()})
			}
			return &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{e}}
		}
		overTask := func() *types.EcsPropertiesOverride {
			return &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{Containers: []types.TaskContainerOverrides{
				{Name: aws.String(fmt.Sprint("c", rapid.IntRange(0, 3).Draw(t, "container"))), ResourceRequirements: requirements("over")}}}}}
		}
		target := func(nodes int) *string {
			from := rapid.IntRange(0, nodes-1).Draw(t, "from")
			return aws.String(fmt.Sprintf("%d:%d", from, rapid.IntRange(from, nodes-1).Draw(t, "to")))
		}
		d := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("d"), Type: types.JobDefinitionTypeContainer}
		in := &awsbatch.SubmitJobInput{JobName: aws.String("j"), JobQueue: aws.String("q"), JobDefinition: aws.String("d")}
		switch rapid.SampledFrom([]string{"container", "task", "nodes"}).Draw(t, "kind") {
		case "container":
			d.ContainerProperties = &types.ContainerProperties{Image: aws.String("i"), ResourceRequirements: whole()}
			in.ContainerOverrides = &types.ContainerOverrides{ResourceRequirements: requirements("over")}
		case "task":
			d.EcsProperties, in.EcsPropertiesOverride = task(), overTask()
		case "nodes":
			nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
			d.Type, d.NodeProperties = types.JobDefinitionTypeMultinode, &types.NodeProperties{NumNodes: aws.Int32(int32(nodes)), MainNode: aws.Int32(0)}
			targets := []*string{aws.String("0:")}
			for range rapid.IntRange(0, 2).Draw(t, "ranges") {
				targets = append(targets, target(nodes))
			}
			in.NodeOverrides = &types.NodeOverrides{}
			for _, target := range targets {
				r, o := types.NodeRangeProperty{TargetNodes: target}, types.NodePropertyOverride{TargetNodes: target}
				if rapid.Bool().Draw(t, "several containers") {
					r.EcsProperties, o.EcsPropertiesOverride = task(), overTask()
				} else {
					r.Container = &types.ContainerProperties{Image: aws.String("i"), ResourceRequirements: whole()}
					o.ContainerOverrides = &types.ContainerOverrides{ResourceRequirements: requirements("over")}
				}
				d.NodeProperties.NodeRangeProperties = append(d.NodeProperties.NodeRangeProperties, r)
				if rapid.Bool().Draw(t, "override") {
					in.NodeOverrides.NodePropertyOverrides = append(in.NodeOverrides.NodePropertyOverrides, o)
				}
			}
		}
		work, err := model.WorkOf(&model.Definition{Request: d}, in)
		if err != nil {
			t.Fatal(err)
		}
		need, ok := plan.NeedOf(parsed(t, d), parsed(t, in))
		var sum model.Amount
		for _, p := range need.Parts {
			n := int64(p.Nodes)
			sum.MilliCPU, sum.MemoryMiB, sum.GPUs = sum.MilliCPU+n*int64(p.VCPUs*1000), sum.MemoryMiB+n*int64(p.MemoryMiB), sum.GPUs+n*int64(p.GPUs)
		}
		if !ok || sum != work.Need {
			t.Fatalf("plan needs %+v (%v), the engine %+v", sum, ok, work.Need)
		}
	})
}

// parsed returns a request as a document.
func parsed(t *rapid.T, request any) *jsontree.Node {
	text, err := wire.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := jsontree.Parse(diag.NewSource("request", string(text)))
	return root
}
