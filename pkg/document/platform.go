package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Platform is the organisation's side, written once by the platform team.
type Platform struct {
	Root          *jsontree.Node
	DefaultTarget string
	Targets       []Target
	Queues        []Queue
	// Defaults holds job members (compact form) that every job starts from.
	Defaults *jsontree.Node
	Policy   Policy
	// CatalogFile names a file of newer instance types, relative to the platform
	// file; "" if it names none.
	CatalogFile string
	// Catalog is the instance types to check jobs against, after CatalogFile or another file
	// was read. Nil means the catalogue in batchctl.
	Catalog *catalog.Catalog
	// PricesFile names a file of newer prices, or of other Regions, relative to the
	// platform file; "" if it names none.
	PricesFile string
}

// Target is a place that jobs can be sent to: an AWS account and Region, or the
// local engine (name "local").
type Target struct {
	Name     string
	Region   string
	Profile  string
	Endpoint string
	// RoleARN is a role that is assumed with the profile's credentials; AccountID the
	// account that must be the result, or nothing is changed there.
	RoleARN, AccountID string
	// Staging is where what is too long for a request is put: s3://bucket/prefix; "" if
	// the file names no place.
	Staging string
	// VCPUs, MemoryMiB and GPUs bound the local engine; 0 means what the machine has.
	VCPUs     float64
	MemoryMiB int
	GPUs      int
	// Executor is how the local engine runs jobs: process, docker, podman or
	// container; "" stands for process.
	Executor string
	Node     *jsontree.Node
}

// Queue is a job queue with its compute environments, in order.
type Queue struct {
	// Alias is the short name that job files use; Name is the jobQueue's own.
	Alias, Name  string
	Environments []Environment
	Node         *jsontree.Node
}

// Environment is a compute environment, as far as placement needs it.
type Environment struct {
	// Name is the compute environment's; "" if the platform file gives none.
	Name string
	// Type is EC2, SPOT, FARGATE or FARGATE_SPOT.
	Type string
	// InstanceTypes holds types ("g5.8xlarge"), families ("c5") or "optimal".
	InstanceTypes []string
	// MaxvCpus is the environment's maxvCpus; 0 means not given.
	MaxvCpus int
	Node     *jsontree.Node
}

// Target finds a target by name.
func (p *Platform) Target(name string) (Target, bool) {
	i := slices.IndexFunc(p.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return p.Targets[i], true
}

// Queue finds a queue by alias, name or ARN.
func (p *Platform) Queue(word string) (Queue, bool) {
	for _, same := range [...]func(Queue) bool{
		func(q Queue) bool { return q.Alias == word },
		func(q Queue) bool { return q.Name == word },
		func(q Queue) bool { return sameQueue(q.Name, word) },
	} {
		if i := slices.IndexFunc(p.Queues, same); i >= 0 {
			return p.Queues[i], true
		}
	}
	return Queue{}, false
}

// sameQueue compares two job queues, each given by name or by an ARN. A part
// that one of them leaves empty fits any.
func sameQueue(a, b string) bool {
	pa, pb := queueParts(a), queueParts(b)
	for i := range pa {
		if pa[i] != pb[i] && pa[i] != "" && pb[i] != "" {
			return false
		}
	}
	return pa[len(pa)-1] == pb[len(pb)-1]
}

// queueParts splits arn:partition:batch:region:account:job-queue/name; of a
// bare name only the last part is known.
func queueParts(queue string) (parts [6]string) {
	fields := strings.SplitN(queue, ":", 6)
	if len(fields) < 6 || fields[0] != "arn" {
		parts[5] = queue
		return parts
	}
	copy(parts[:], fields)
	parts[5] = strings.TrimPrefix(parts[5], "job-queue/")
	return parts
}

// Policy is the platform team's rules beyond those of AWS. The zero value has no rules. In
// patterns, * matches any sequence of characters.
type Policy struct {
	// Owner says who to ask, and Waiver how a job gets excepted; "" if not given.
	Owner, Waiver string

	RequiredTags  []string
	AllowedImages []string // patterns
	DenyLatestTag bool
	MaxAttempts   int // 0: no bound
	MaxTimeout    int // seconds per attempt; 0: no bound

	AllowedQueues         []string // patterns: alias, name or ARN; none: no bound
	AllowedJobRoles       []string // patterns: ARN, or name without a colon; none: no bound
	AllowedExecutionRoles []string

	// The most that a job may ask for in all, and the most children of an array.
	MaxvCpus     float64 // 0: no bound
	MaxMemoryMiB int     // 0: no bound
	MaxGPUs      *int    // nil: no bound
	MaxArraySize int     // 0: no bound

	Node *jsontree.Node
}
