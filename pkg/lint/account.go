package lint

import "github.com/batchctl/batchctl/pkg/document"

// account is what the organisation's platform file says about the account that runs the jobs.
type account struct {
	// Platform is nil without a platform file.
	Platform *document.Platform
}

// policy returns the policy of the platform file, or an empty policy without one.
func (a account) policy() document.Policy {
	if a.Platform == nil {
		return document.Policy{}
	}
	return a.Platform.Policy
}

// instanceTypes returns the instance types with which jobs are compared.
func (a account) instanceTypes() instanceTypes {
	if a.Platform == nil {
		return instanceTypes{}
	}
	return instanceTypes{a.Platform.Catalog}
}

// listsQueues reports whether a platform file lists the queues of the account, so
// that a queue that it does not list is a mistake.
func (a account) listsQueues() bool { return a.Platform != nil && len(a.Platform.Queues) > 0 }

// isDescribed reports whether a platform file governs the files.
func (a account) isDescribed() bool { return a.Platform != nil && a.Platform.Root != nil }
