package lint

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// dependent lists, for rules about something that is absent or that compare several values, the members that decide. If
// one of them is a placeholder, the rule knows nothing. Settle handles what is reported at the placeholder itself.
var dependent = map[string]string{
	"vcpu-required":                         "resourceRequirements type value resources containerProperties container jobDefinition",
	"memory-required":                       "resourceRequirements type value resources containerProperties container jobDefinition",
	"container-image-required":              "containerProperties container jobDefinition",
	"ecs-taskproperties-single":             "taskProperties",
	"ecs-essential-required":                "containers essential",
	"eks-containers-required":               "containers podProperties",
	"mnp-coverage":                          "targetNodes nodeRangeProperties numNodes",
	"mnp-same-instance-type":                "instanceTypes instanceType",
	"mnp-instancetypes-ecs-only":            "ecsProperties",
	"queue-ce-order-required":               "computeEnvironmentOrder jobQueueType",
	"queue-service-env-type":                "jobQueueType",
	"jobdef-container-needs-block":          "type",
	"jobdef-multinode-needs-nodeproperties": "type",
	"stuck-no-network-path":                 "subnets",
	"dep-unknown-job":                       "name jobName jobs jobId",
}

// unread lists further members whose values decide, if they cannot be read. It is no list for placeholders: a file with
// placeholders may have no error at all, and a problem of another job must not be lost.
var unread = map[string]string{
	"jobdef-name-required":              "jobDefinitionName",
	"jobdef-type-required":              "type",
	"jobdef-container-needs-block":      "containerProperties ecsProperties eksProperties nodeProperties",
	"vcpu-required":                     "definition defaults",
	"memory-required":                   "definition defaults",
	"container-image-required":          "image definition defaults",
	"ce-securitygroups-required":        "securityGroupIds launchTemplate",
	"ce-allocation-spot-only":           "type allocationStrategy",
	"ce-spot-fleet-role":                "type allocationStrategy spotIamFleetRole",
	"timeout-missing":                   "timeout attemptDurationSeconds jobDefinition definition defaults",
	"retry-evaluate-condition-required": "onReason onStatusReason onExitCode",
	"retry-no-final-exit":               "evaluateOnExit action onReason onStatusReason onExitCode",
	"parameter-unused":                  "command environment jobDefinition containerProperties defaults",
	"submit-ref-unresolved":             "parameters defaults jobDefinition",
	"ref-without-default":               "parameters defaults jobDefinition",
	"stage-no-role":                     "jobRoleArn containerProperties jobDefinition defaults",
	"policy-required-tags":              "tags defaults",
	"policy-max-timeout":                "timeout attemptDurationSeconds jobDefinition defaults",
}

// withoutUnknown removes the problems of rules in a document whose deciding member is unknown.
// misspelt members count as unreadable.
func withoutUnknown(files []*document.File, misspelt map[*document.File][]document.UnknownMember,
	found diag.List) diag.List {
	for _, f := range files {
		if len(f.Unknown)+len(f.Unreadable)+len(misspelt[f]) == 0 {
			continue
		}
		entries := f.Entries()
		placeholders, unreadable := newUnknown(entries, f.Unknown), newUnknown(entries,
			slices.Concat(f.Unreadable, misspelt[f]))
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
			return d.Source == f.Source &&
				(placeholders.any(entries, d, func(member string) bool { return depends(d.Rule, member) }) ||
					unreadable.any(entries, d, func(member string) bool {
						return depends(d.Rule, member) || slices.Contains(strings.Fields(unread[d.Rule]), member)
					}))
		})
	}
	return found
}

// unknown has the names of the unknown members of a file, each once: of the whole file, and of each entry of its list.
type unknown struct {
	all     []string
	byEntry map[diag.Span][]string // the zero entry has those outside all entries
}

// newUnknown sorts members by the entry that they are in.
func newUnknown(entries document.Entries, members []document.UnknownMember) unknown {
	u := unknown{byEntry: map[diag.Span][]string{}}
	for _, m := range members {
		entry := entries.At(m.At)
		if !slices.Contains(u.byEntry[entry], m.Name) {
			u.byEntry[entry] = append(u.byEntry[entry], m.Name)
		}
		if !slices.Contains(u.all, m.Name) {
			u.all = append(u.all, m.Name)
		}
	}
	return u
}

// any reports whether an unknown member decides about a problem. The members of one job or resource do not decide about
// another one in the same list, except for a rule that compares the names of all.
func (u unknown) any(entries document.Entries, d diag.Diagnostic, decides func(member string) bool) bool {
	entry := entries.At(d.Span)
	if entry == (diag.Span{}) || d.Rule == "dep-unknown-job" {
		return slices.ContainsFunc(u.all, decides)
	}
	return slices.ContainsFunc(u.byEntry[entry], decides) || slices.ContainsFunc(u.byEntry[diag.Span{}], decides)
}

// depends reports whether a rule knows nothing without the value of a member.
func depends(rule, member string) bool {
	if member == document.AnyMember {
		return dependent[rule] != "" || strings.HasSuffix(rule, "-required") || strings.Contains(rule, "-needs-") ||
			strings.HasSuffix(rule, "-missing")
	}
	if member == "platformCapabilities" && (strings.HasPrefix(rule, "ec2-") || strings.HasPrefix(rule, "fargate-")) {
		return true
	}
	return slices.Contains(strings.Fields(dependent[rule]), member)
}
