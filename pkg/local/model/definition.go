package model

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Definition is one revision of a job definition.
type Definition struct {
	Revision int32 // from 1
	Request  *awsbatch.RegisterJobDefinitionInput
	Inactive bool // it was deregistered
}

// Name returns the definition's name, without the revision.
func (d *Definition) Name() string { return *d.Request.JobDefinitionName }

// ID returns the definition's name:revision.
func (d *Definition) ID() string { return d.Name() + ":" + strconv.Itoa(int(d.Revision)) }

// PlatformEKS is the platform of pods. Batch has the first two platforms as capabilities, and this one as an
// orchestration type.
const PlatformEKS types.PlatformCapability = "EKS"

// Platform returns the platform that a job definition is for.
func (d *Definition) Platform() types.PlatformCapability {
	switch {
	case d.Request.EksProperties != nil:
		return PlatformEKS
	case d.Fargate():
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

// Fargate reports whether jobs of the definition run on Fargate.
func (d *Definition) Fargate() bool {
	return slices.Contains(d.Request.PlatformCapabilities, types.PlatformCapabilityFargate)
}

// Definition returns the revision name:revision; nil if it does not exist.
func (m *Model) Definition(id string) *Definition {
	name, revision, ok := SplitID(id)
	if revisions := m.Definitions[name]; ok && revision >= 1 && int(revision) <= len(revisions) {
		return revisions[revision-1]
	}
	return nil
}

// register adds a revision, which must have the next number.
func (m *Model) register(at int64, r *Registration) error {
	d := &Definition{Revision: r.Revision, Request: r.Request.V}
	if aws.ToString(d.Request.JobDefinitionName) == "" || d.Request.ContainerProperties == nil && d.Request.EcsProperties == nil &&
		d.Request.NodeProperties == nil && d.Request.EksProperties == nil {
		return fmt.Errorf("register job definition: name or containers missing")
	}
	revisions := m.Definitions[d.Name()]
	if int(r.Revision) != len(revisions)+1 {
		return fmt.Errorf("register %s: revision %d follows %d", d.Name(), r.Revision, len(revisions))
	}
	m.Definitions[d.Name()] = append(revisions, d)
	m.invocations.remember(at, r.Invocation, d.ID())
	m.tag(ResourceOf(KindDefinition, d.ID()), d.Request.Tags)
	return nil
}
