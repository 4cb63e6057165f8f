package document

import (
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// operationTable lists the operations of AWS Batch whose requests batchctl recognizes by their members: those of
// operationKinds, which it checks against the API model, and others, which it does not check. The members before the
// bar distinguish a request from the other kinds and from documents of other tools. Requests with a single member are
// not here: one member does not decide. A test compares the table with the API.
const operationTable = `
CancelJob jobId | reason
CancelJobs jobs | reason
DescribeComputeEnvironments computeEnvironments | maxResults nextToken
DescribeJobDefinitions jobDefinitions | jobDefinitionName maxResults nextToken status
DescribeJobQueues jobQueues | maxResults nextToken
DescribeServiceEnvironments serviceEnvironments | maxResults nextToken
ListJobs jobStatus arrayJobId multiNodeJobId | filters jobQueue maxResults nextToken
ListJobsByConsumableResource consumableResource | filters maxResults nextToken
ListQuotaShares jobQueue | maxResults nextToken
ListServiceJobs jobStatus | filters jobQueue maxResults nextToken
SubmitServiceJob serviceJobType serviceRequestPayload timeoutConfig | clientToken jobName jobQueue preemptionConfiguration quotaShareName retryStrategy schedulingPriority shareIdentifier tags
TerminateJob jobId | reason
TerminateJobs jobs | reason
TerminateServiceJob jobId | reason
TerminateServiceJobs jobs | reason
UpdateComputeEnvironment computeEnvironment | computeResources context ecsSettings eksConfiguration serviceRole state unmanagedvCpus updatePolicy
UpdateConsumableResource consumableResource | clientToken operation quantity
UpdateJobQueue jobQueue | computeEnvironmentOrder jobStateTimeLimitActions priority schedulingPolicyArn serviceEnvironmentOrder state
UpdateQuotaShare quotaShareArn | capacityLimits preemptionConfiguration resourceSharingConfiguration state
UpdateSchedulingPolicy arn | fairsharePolicy quotaSharePolicy
UpdateServiceEnvironment serviceEnvironment | capacityLimits state
UpdateServiceJob jobId | schedulingPriority
`

// operation is a row of operationTable, with its members as plain returns them.
type operation struct {
	name           string
	marks, members []string
}

// operations holds the rows of operationTable by their marks.
var operations = sync.OnceValue(func() map[string][]*operation {
	byMark := map[string][]*operation{}
	for row := range strings.Lines(strings.TrimSpace(operationTable)) {
		marks, others, _ := strings.Cut(row, "|")
		words := strings.Fields(marks)
		op := &operation{name: words[0]}
		for _, m := range words[1:] {
			op.marks = append(op.marks, plain(m))
		}
		op.members = slices.Clone(op.marks)
		for m := range strings.FieldsSeq(others) {
			op.members = append(op.members, plain(m))
		}
		for _, m := range op.marks {
			byMark[m] = append(byMark[m], op)
		}
	}
	return byMark
})

// uncheckedOf names the document if it belongs to AWS Batch and batchctl does not check it: "UpdateJobQueue" for such
// a request, "ListJobs or ListServiceJobs" if it can be several. It returns "" for any other document.
func uncheckedOf(root *jsontree.Node) string {
	if ofEventBridge(root) {
		return "EventBridge targets"
	}
	if root.Is(jsontree.Array) {
		return listOf(root)
	}
	if !root.Is(jsontree.Object) || kindOfSchema(root.Get("$schema").Str()) != "" {
		return ""
	}
	if d, _ := describedIn(root); d != nil {
		return ""
	}
	if isStateMachine(root) {
		if StartsJobs(root) {
			return "Step Functions state machine"
		}
		return ""
	}
	if member := overridesOf(root); member != "" {
		return member + " of a submission"
	}
	_, unchecked := operationOf(root)
	return unchecked
}

// operationOf returns the kind of a request of operationTable, or the names of the operations whose request it can be
// and that batchctl does not check.
func operationOf(root *jsontree.Node) (kind Kind, unchecked string) {
	names := operationsOf(root)
	if len(names) == 1 && operationKinds[Kind(names[0])] != "" {
		return Kind(names[0]), ""
	}
	return "", text.Or(names)
}

// operationsOf returns the operations whose request the object can be. It needs two members of the request, one of
// them a mark, more members than those of any kind that is checked, and few members that the request does not have.
func operationsOf(root *jsontree.Node) (names []string) {
	total, most := 0, 1
	for m := range root.Children() {
		if strings.HasPrefix(m.Name, "$") {
			continue
		}
		if total++; total > mostMembers {
			return nil
		}
		for _, op := range operations()[plain(m.Name)] {
			if !op.takesMark(m) || slices.Contains(names, op.name) {
				continue
			}
			switch n := op.likeness(root); {
			case n > most:
				names, most = []string{op.name}, n
			case n == most && n > 1:
				names = append(names, op.name)
			}
		}
	}
	if len(names) == 0 || 2*most < total {
		return nil
	}
	for _, k := range kinds {
		shared := k.kind.shared(root)
		if k.kind == KindQuotaShare && root.Get(k.name) == nil {
			continue // it shares jobQueue, state and capacityLimits with requests that change something
		}
		if shared >= most {
			return nil
		}
	}
	slices.Sort(names)
	return names
}

// takesMark reports whether the value of a mark is possible in a request: lists are lists of names there, and lists of
// objects in the output of describe operations and in workflows.
func (op *operation) takesMark(m *jsontree.Node) bool {
	return !m.Is(jsontree.Object) && (!m.Is(jsontree.Array) || m.Index(0).Is(jsontree.String))
}

// likeness counts the members of the object that the request has.
func (op *operation) likeness(root *jsontree.Node) (n int) {
	for m := range root.Children() {
		if slices.Contains(op.members, plain(m.Name)) {
			n++
		}
	}
	return n
}
