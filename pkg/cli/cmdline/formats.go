package cmdline

import (
	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/schemas"
)

// Formats are the versions of the formats that this batchctl writes. It also reads all earlier ones.
// docs/compatibility.md explains them.
type Formats struct {
	Documents int `json:"documents"` // job files, workflow files, platform files, job lists, files of resources
	Output    int `json:"output"`    // the JSON output of commands
	Plan      int `json:"plan"`      // plan --out
	Baseline  int `json:"baseline"`  // validate --baseline
	Evidence  int `json:"evidence"`  // explain --record
	Benchmark int `json:"benchmark"` // benchmark.json
	Ledger    int `json:"ledger"`    // the record of submissions
	RunLog    int `json:"runLog"`    // the logs of unfinished submissions
	Journal   int `json:"journal"`   // the state of the local engine
	Staging   int `json:"staging"`   // the document for batchctl stage in a container
}

// FormatVersions returns the versions.
func FormatVersions() Formats {
	return Formats{
		Documents: document.FormatVersion, Output: schemas.OutputVersion, Plan: plan.FormatVersion,
		Baseline: diag.BaselineVersion, Evidence: explain.BundleVersion,
		Benchmark: bench.ReportVersion, Ledger: once.LedgerFormat, RunLog: once.LogFormat, Journal: journal.Version,
		Staging: stage.Version,
	}
}
