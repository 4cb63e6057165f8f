package model

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The account and Region of the engine. No AWS account has this number.
const (
	Region  = batch.LocalRegion
	Account = "000000000000"
)

const arnPrefix = "arn:aws:batch:" + Region + ":" + Account + ":"

// ECSPrefix begins the ARNs of the ECS resources that AWS would have for the jobs.
const ECSPrefix = "arn:aws:ecs:" + Region + ":" + Account + ":"

// Kinds of resources, as they appear in ARNs.
const (
	KindJob         = "job"
	KindDefinition  = "job-definition"
	KindQueue       = "job-queue"
	KindEnvironment = "compute-environment"
	KindPolicy      = "scheduling-policy"
	KindConsumable  = "consumable-resource"

	KindServiceJob         = "service-job"
	KindServiceEnvironment = "service-environment"
	// KindQuotaShare is within the ARN of a job queue: job-queue/QUEUE/quota-share/NAME.
	KindQuotaShare = "quota-share"
)

// Resource identifies anything that has an ARN: kind/name, the last part of the ARN.
type Resource string

// ResourceOf returns the resource with a kind and a name.
func ResourceOf(kind, name string) Resource { return Resource(kind + "/" + name) }

// QuotaShareOf returns the resource of a quota share of a queue.
func QuotaShareOf(queue, name string) Resource {
	return ResourceOf(KindQueue, queue+"/"+KindQuotaShare+"/"+name)
}

// ARN returns the ARN of a resource.
func ARN(kind, name string) string { return ResourceOf(kind, name).ARN() }

// ParseARN returns the resource of an ARN of this engine.
func ParseARN(text string) (Resource, error) {
	name, ok := strings.CutPrefix(text, arnPrefix)
	if kind, rest, _ := strings.Cut(name, "/"); !ok || kind == "" || rest == "" {
		return "", wire.ClientException("%q is not an ARN of this engine: they begin with %s", text, arnPrefix)
	}
	return Resource(name), nil
}

// ResourceName returns the part of an ARN after the kind, and any other text unchanged.
func ResourceName(text, kind string) string {
	if batch.IsARN(text) {
		if _, name, ok := strings.Cut(text, ":"+kind+"/"); ok {
			return name
		}
	}
	return text
}

// ARN returns the resource's ARN on this engine.
func (r Resource) ARN() string { return arnPrefix + string(r) }

// Split returns the kind and the name of the resource. The name of a quota share begins with that of
// its queue.
func (r Resource) Split() (kind, name string) {
	kind, name, _ = strings.Cut(string(r), "/")
	if kind == KindQueue && strings.Contains(name, "/"+KindQuotaShare+"/") {
		kind = KindQuotaShare
	}
	return kind, name
}

// SplitID returns the job id and the index of an id:index; the index is -1 if there is none.
func SplitID(id string) (job string, index int32, ok bool) {
	if !strings.Contains(id, ":") {
		return id, -1, true
	}
	job, n, ok := batch.SplitChildID(id)
	return job, int32(n), ok
}

// NodeID returns the id of node i of a job: job#i.
func NodeID(job string, i int) string { return fmt.Sprintf("%s#%d", job, i) }
