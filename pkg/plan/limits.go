package plan

import "github.com/batchctl/batchctl/pkg/catalog"

// What a request may hold, and what of that is kept for what the client adds to it.
const (
	// MaxSubmit is what a SubmitJob request must stay under, in bytes as JSON (user
	// guide, service quotas; the service's own words are "must be less than 30 KiB").
	MaxSubmit = catalog.MaxSubmitBytes
	// MaxDefinition is the largest RegisterJobDefinition request, in bytes as JSON (the
	// same).
	MaxDefinition = catalog.MaxRegisterBytes
	// MaxOverrides is how many characters of containerOverrides, as JSON, Amazon ECS
	// takes: a job with more is accepted, and fails. OverridesReserve is for what Batch
	// adds.
	MaxOverrides     = 8192
	OverridesReserve = 512

	// tagReserve is the space for the tag with a definition's content hash.
	tagReserve = 128
	// cellsReserve is the space in the overrides for the submission's id and for the cells of a
	// retry.
	cellsReserve = 1024
	// idReserve is the space in SubmitJob for the ids of 20 dependencies, the submission's id in
	// name and tag, and the reserves of the overrides.
	idReserve = 4096

	// SubmissionSuffix is how many characters the client adds to the names of jobs, the
	// hyphen with them.
	SubmissionSuffix = 27
	// maxMadeName is the longest name of a generated job: its end, which distinguishes it, must
	// not be cut off when the client adds its suffix.
	maxMadeName = catalog.MaxNameLength - SubmissionSuffix
)
