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
	case d.Request.EksProperties != nil || hasPodNodes(d.Request.NodeProperties):
		return PlatformEKS
	case d.Fargate():
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

// hasPodNodes reports whether the nodes are pods.
func hasPodNodes(p *types.NodeProperties) bool {
	return p != nil && slices.ContainsFunc(p.NodeRangeProperties,
		func(r types.NodeRangeProperty) bool { return r.EksProperties != nil })
}

// Fargate reports whether jobs of the definition run on Fargate.
func (d *Definition) Fargate() bool {
	return slices.Contains(d.Request.PlatformCapabilities, types.PlatformCapabilityFargate)
}

// DefinitionTable has the job definitions.
type DefinitionTable struct {
	Definitions map[string][]*Definition // by name; revision r at r-1
}

// Definition returns the revision name:revision; nil if it does not exist.
func (s *DefinitionTable) Definition(id string) *Definition {
	name, revision, ok := SplitID(id)
	if revisions := s.Definitions[name]; ok && revision >= 1 && int(revision) <= len(revisions) {
		return revisions[revision-1]
	}
	return nil
}

// addRevision adds a revision, which must have the next number.
func (s *DefinitionTable) addRevision(revision int32,
	request *awsbatch.RegisterJobDefinitionInput) (*Definition, error) {
	d := &Definition{Revision: revision, Request: request}
	if aws.ToString(request.JobDefinitionName) == "" || request.ContainerProperties == nil &&
		request.EcsProperties == nil &&
		request.NodeProperties == nil && request.EksProperties == nil {
		return nil, fmt.Errorf("register job definition: name or containers missing")
	}
	revisions := s.Definitions[d.Name()]
	if int(revision) != len(revisions)+1 {
		return nil, fmt.Errorf("register %s: revision %d follows %d", d.Name(), revision, len(revisions))
	}
	s.Definitions[d.Name()] = append(revisions, d)
	return d, nil
}

// deregister makes a revision INACTIVE.
func (s *DefinitionTable) deregister(id string) error {
	d := s.Definition(id)
	if d == nil {
		return fmt.Errorf("deregister %s: no such job definition", id)
	}
	d.Inactive = true
	return nil
}
