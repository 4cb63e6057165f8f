// Package document reads the documents of batchctl: job, workflow, platform and AWS
// request files. It checks a file against its schema and lowers every job to two AWS
// requests.
//
// Load in load.go is the entry. The prefix of a file name tells the step:
//
//	kind_     recognises the kind of a document, and documents of other tools
//	schema_   the schemas: compiled for a fast decision, and as JSON for messages
//	check_    messages about a tree that violates its schema; check.go begins
//	load_     what Load does for one kind of document: a workflow, a job list, resources
//	lower_    lowers one member of a job, as in lower_array.go; lower.go calls all of them
//	table_    the formats of an array's table; table.go has its columns and cells
//	platform_ what others ask of a platform file; load_platform.go reads it
//	compact_  the way back, from requests to a job file; compact.go begins
//
// A job file runs through load.go, load_jobs.go, lower.go, and these files:
//
//	lower_defaults.go    the defaults of the platform file and the workflow; waivers
//	means.go             image or definition: how the job says what it runs
//	lower_requests.go    jobDefinition, submitJob, and the members that stay unchanged
//	lower_resources.go   resources
//	lower_environment.go environment, secrets
//	lower_retries.go     retryStrategy, timeout
//	lower_depends.go     dependsOn, when
//	lower_array.go       array; its matrix, table and commands have files of their own
//	lower_staging.go     inputs, outputs
//	lower_checkpoint.go  checkpoint
//	lower_metrics.go     metrics
//	lower_measure.go     measure
//	lower_onfailure.go   onFailure
//	lower_notify.go      notify
//	lower_references.go  ${{ matrix.x }} in any of them, with referring.go
//	lower_value.go       sizes, counts and durations in any of them, with units.go
//	lower_overlay.go     the options of the command line
//
// lowering.go has what lower knows of the job so far. Most other lower_ files read one
// member without it, and report to the same list. native.go adds to copies of the requests
// what submit would add.
//
// The files refer to each other in one direction. At the bottom are the types that all
// steps share (job.go, file.go, kind.go, platform.go, options.go) and small tools
// (problems.go, nodes.go, places.go, phrase.go, location.go).
package document
