package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Platform is a platform file, which an organisation's platform team maintains.
type Platform struct {
	Root          *jsontree.Node
	DefaultTarget string
	Targets       []Target
	Queues        []Queue
	// Defaults holds members of jobs, in the compact form, that apply to every job.
	Defaults *jsontree.Node
	Policy   Policy
	// Teams are those for which resources are repeated.
	Teams []Team
	// CatalogFile names a file of newer instance types, relative to the platform
	// file; "" if it names none.
	CatalogFile string
	// Catalog holds the instance types to check jobs against, after CatalogFile or another
	// file was read. Nil means batchctl's own catalogue.
	Catalog *catalog.Catalog
	// PricesFile names a file of newer prices, or of other Regions, relative to the
	// platform file; "" if it names none.
	PricesFile string
	// Templates are the documents that batchctl init --from writes.
	Templates []Template
}

// Target is a destination for jobs: an AWS account and Region, or the local engine (name
// "local").
type Target struct {
	Name     string
	Region   string
	Profile  string
	Endpoint string
	// RoleARN is a role that batchctl assumes with the profile's credentials. AccountID is
	// the expected account; if the credentials belong to another one, batchctl changes
	// nothing.
	RoleARN, AccountID string
	// Staging is the location, s3://bucket/prefix, for data that is too long for a
	// request; "" if the file has none.
	Staging string
	// VCPUs, MemoryMiB and GPUs limit the local engine; 0 means the capacity of the
	// machine.
	VCPUs     float64
	MemoryMiB int
	GPUs      int
	// Executor says how the local engine runs jobs: process, docker, podman or container;
	// "" means process.
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

// Environment is a compute environment, with the members that placement needs.
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

// Template is a document, or a directory of documents, to start from.
type Template struct {
	Name, Description string
	// Source is a path relative to the platform file, an s3:// location or a git repository.
	Source     string
	Parameters []TemplateParameter
	Node       *jsontree.Node
}

// TemplateParameter is a value for the placeholders of a template.
type TemplateParameter struct {
	Name, Description string
	// Type is string, number, integer or boolean.
	Type string
	// Default is the value of a parameter without another one; nil: a value is required.
	Default *jsontree.Node
	// Allowed are the only allowed values; none: any value of the type.
	Allowed []*jsontree.Node
	// Pattern is a regular expression that matches the whole value; "" allows any value.
	Pattern string
	Node    *jsontree.Node
}

// Team is a team of the organisation, for which the platform file repeats resources.
type Team struct {
	Name string
	// Values are the members that a resource refers to: ${team.priority} is the value of "priority".
	Values *jsontree.Node
}

// Policy holds the organisation's limits in addition to those of AWS. The zero value has
// no limits. In patterns, * matches any sequence of characters.
type Policy struct {
	// Owner is the contact for questions, and Waiver the way to get an exception; "" if
	// absent.
	Owner, Waiver string

	RequiredTags  []string
	AllowedImages []string // patterns
	DenyLatestTag bool
	MaxAttempts   int // 0: no limit
	MaxTimeout    int // seconds per attempt; 0: no limit

	AllowedQueues         []string // patterns: alias, name or ARN; none: no limit
	AllowedJobRoles       []string // patterns: ARN, or name without a colon; none: no limit
	AllowedExecutionRoles []string

	// The most that a job may request in total, and the most children of an array.
	MaxvCpus     float64 // 0: no limit
	MaxMemoryMiB int     // 0: no limit
	MaxGPUs      *int    // nil: no limit
	MaxArraySize int     // 0: no limit

	Node *jsontree.Node
}

// Template finds a template by name.
func (p *Platform) Template(name string) (Template, bool) {
	i := slices.IndexFunc(p.Templates, func(t Template) bool { return t.Name == name })
	if i < 0 {
		return Template{}, false
	}
	return p.Templates[i], true
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
func (p *Platform) Queue(name string) (Queue, bool) {
	for _, same := range [...]func(Queue) bool{
		func(q Queue) bool { return q.Alias == name },
		func(q Queue) bool { return q.Name == name },
		func(q Queue) bool { return sameQueue(q.Name, name) },
	} {
		if i := slices.IndexFunc(p.Queues, same); i >= 0 {
			return p.Queues[i], true
		}
	}
	return Queue{}, false
}

// sameQueue reports whether two names or ARNs are the same job queue. A part that is empty
// in one of them matches any text.
func sameQueue(a, b string) bool {
	pa, pb := queueParts(a), queueParts(b)
	for i := range pa {
		if pa[i] != pb[i] && pa[i] != "" && pb[i] != "" {
			return false
		}
	}
	return pa[len(pa)-1] == pb[len(pb)-1]
}

// queueParts splits arn:partition:batch:region:account:job-queue/name. For a bare name,
// only the last part is known.
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
