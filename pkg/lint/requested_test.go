package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// needing returns a container that requests a number of vCPUs.
func needing(member string, vcpus int) string {
	return fmt.Sprintf(`%q: { "resourceRequirements": [{ "type": "VCPU", "value": "%d" }] }`, member, vcpus)
}

func nodesOf(ranges ...string) string {
	return fmt.Sprintf(`"nodeProperties": { "numNodes": 8, "mainNode": 0, "nodeRangeProperties": [%s] }`, strings.Join(ranges, ", "))
}

// The total request of a job, in every form of a job.
func TestDemands(t *testing.T) {
	const list = `[{ "containers": [{ "name": "a", "resourceRequirements": [{ "type": "VCPU", "value": "2" }] }, { "name": "b", "resourceRequirements": [{ "type": "VCPU", "value": "3" }] }] }]`
	pod := func(member, name, list string, cpu any) string {
		return fmt.Sprintf(`{ "podProperties": { %q: [{ "name": %q, "resources": { %q: { "cpu": "%v" } } }] } }`, member, name, list, cpu)
	}
	for name, tt := range map[string]struct {
		definition, submit string
		want               float64
		at                 string // the figure that weighs most
	}{
		"container":                         {needing("containerProperties", 4), ``, 4, `"4"`},
		"legacy":                            {`"containerProperties": { "vcpus": 5 }`, ``, 5, `5`},
		"override":                          {needing("containerProperties", 4), needing("containerOverrides", 9), 9, `"9"`},
		"override of another kind":          {needing("containerProperties", 4), `"containerOverrides": { "resourceRequirements": [{ "type": "MEMORY", "value": "9" }] }`, 4, `"4"`},
		"legacy override":                   {`"containerProperties": { "vcpus": 5 }`, `"containerOverrides": { "vcpus": 6 }`, 6, `6`},
		"requirements beat legacy":          {needing("containerProperties", 4), `"containerOverrides": { "vcpus": 6 }`, 4, `"4"`},
		"override of an unknown definition": {``, needing("containerOverrides", 9), 9, `"9"`},
		"nothing known":                     {``, ``, 0, ``},
		"cannot be read":                    {`"containerProperties": { "resourceRequirements": [{ "type": "VCPU", "value": "many" }] }`, ``, 0, ``},
		"task":                              {`"ecsProperties": { "taskProperties": ` + list + ` }`, ``, 5, `"3"`},
		"task, one overridden":              {`"ecsProperties": { "taskProperties": ` + list + ` }`, `"ecsPropertiesOverride": { "taskProperties": ` + strings.ReplaceAll(list, `"2"`, `"7"`) + ` }`, 10, `"7"`},
		"unknown task":                      {``, `"ecsPropertiesOverride": { "taskProperties": ` + list + ` }`, 5, `"3"`},
		"pod":                               {`"eksProperties": ` + pod("containers", "a", "requests", 2), ``, 2, `"2"`},
		"pod, overridden":                   {`"eksProperties": ` + pod("containers", "a", "limits", 2), `"eksPropertiesOverride": ` + pod("containers", "a", "limits", 5), 5, `"5"`},
		"pod, the limit stays":              {`"eksProperties": ` + pod("containers", "a", "limits", 8), `"eksPropertiesOverride": ` + pod("containers", "a", "requests", 5), 8, `"8"`},
		"pod, another container":            {`"eksProperties": ` + pod("containers", "a", "limits", 2), `"eksPropertiesOverride": ` + pod("containers", "b", "limits", 5), 2, `"2"`},
		"init container":                    {`"eksProperties": ` + pod("initContainers", "a", "limits", 6), ``, 6, `"6"`},
		"nodes":                             {nodesOf(`{ "targetNodes": "0:", ` + needing("container", 4) + ` }`), ``, 32, `"4"`},
		"a main node":                       {nodesOf(`{ "targetNodes": "0", `+needing("container", 2)+` }`, `{ "targetNodes": "1:7", `+needing("container", 4)+` }`), ``, 30, `"4"`},
		"nested ranges":                     {nodesOf(`{ "targetNodes": "0:", `+needing("container", 1)+` }`, `{ "targetNodes": "2:3", `+needing("container", 10)+` }`), ``, 26, `"10"`},
		"fewer nodes":                       {nodesOf(`{ "targetNodes": "0:", ` + needing("container", 4) + ` }`), `"nodeOverrides": { "numNodes": 3 }`, 12, `"4"`},
		"some nodes overridden":             {nodesOf(`{ "targetNodes": "0:", ` + needing("container", 4) + ` }`), `"nodeOverrides": { "nodePropertyOverrides": [{ "targetNodes": "0:1", ` + needing("containerOverrides", 20) + ` }] }`, 64, `"20"`},
		"unknown nodes":                     {``, `"nodeOverrides": { "nodePropertyOverrides": [{ "targetNodes": "0:1", ` + needing("containerOverrides", 20) + ` }] }`, 40, `"20"`},
		"tasks on nodes":                    {nodesOf(`{ "targetNodes": "0:", "ecsProperties": { "taskProperties": ` + list + ` } }`), ``, 40, `"3"`},
		"pods on nodes":                     {nodesOf(`{ "targetNodes": "0:", "eksProperties": ` + pod("containers", "a", "limits", 2) + ` }`), ``, 16, `"2"`},
		"a range beyond the nodes":          {nodesOf(`{ "targetNodes": "0:99", ` + needing("container", 4) + ` }`), ``, 32, `"4"`},
		"a range that cannot be read":       {nodesOf(`{ "targetNodes": "all", ` + needing("container", 4) + ` }`), ``, 0, ``},
		"hostile numbers stay in bounds":    {`"nodeProperties": { "numNodes": 9000000000000000, "nodeRangeProperties": [{ "targetNodes": "0:", ` + needing("container", 1) + ` }] }`, ``, mostNodes, `"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			definition := `"jobDefinitionName": "d"`
			if tt.definition != "" {
				definition += ", " + tt.definition
			}
			submit := `"jobName": "s", "jobQueue": "q", "jobDefinition": "d"`
			if tt.submit != "" {
				submit += ", " + tt.submit
			}
			root, diags := document.Load(diag.NewSource("submit.json", "{ "+submit+" }"), document.Options{Kind: document.KindSubmitJob})
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			files := []*document.File{root}
			if tt.definition != "" {
				f, _ := document.Load(diag.NewSource("definition.json", "{ "+definition+` , "type": "container" }`), document.Options{Kind: document.KindJobDefinition})
				files = append(files, f)
			}
			p := &Pass{}
			p.begin(files, nil)
			for _, j := range p.Submits() {
				d := j.resolved().requestsFor("VCPU")
				got := ""
				if src, span := d.largest().Location(); src != nil {
					got = src.Text[span.Start:span.End]
				}
				if d.total != tt.want || got != tt.at {
					t.Errorf("%v at %s", d.total, got)
				}
			}
		})
	}
}
