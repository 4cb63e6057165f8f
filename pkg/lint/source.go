package lint

// The sources that many rules share.
const (
	apiReference = "AWS Batch API reference 2016-08-10"
	userGuide    = "AWS Batch User Guide"
	// probed marks what cdk-preflight states to have tried against the service.
	probed = "; answered so by the service in 2026-09 (cdk-preflight)"
	// derived marks what follows from the documentation without being said.
	derived = "follows from the documentation"
)

// api is a member or shape of the API reference.
func api(what string) string { return apiReference + ", " + what }

// tried is the same where the service was seen to answer so, too.
func tried(what string) string { return api(what) + probed }

// guide is a page of the user guide.
func guide(page string) string { return userGuide + ", " + page }
