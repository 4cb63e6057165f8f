// Package document reads the documents of batchctl: job, workflow, platform and AWS
// request files. It checks a file against its schema and lowers every job to two AWS
// requests.
//
// Load in load.go is the entry. The prefix of a file name tells the step:
//
//	load_   what Load does for one kind of document: a workflow, a job list, resources
//	lower_  lowers a job; the rest of the name is a member, as in lower_array.go
//	check_  checks a tree against its schema, and writes the messages; check.go begins
//	schema_ the schemas: compiled for a fast decision, and as JSON for messages
//	kind_   recognises the kind of a document, and those of other tools
//
// A job runs through load_jobs.go, lower.go, and the files with lower_:
//
//	lower_defaults.go    the defaults of the platform file and the workflow; waivers
//	lowering.go          the job so far; lower_value.go reads "2 GiB" and "1h" for all
//	lower_requests.go    the members that stay unchanged; jobDefinition and submitJob
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
//	lower_references.go  ${{ matrix.x }} in any of them
//	lower_overlay.go     the options of the command line
//
// Compact in compact.go is the way back, from AWS requests to a job file. Native in
// native.go writes what submit adds to the requests. platform.go has the types of a
// platform file, and load_platform.go reads one. job.go, file.go and options.go have the
// types that all steps share. problems.go, nodes.go, places.go, phrase.go, units.go and
// location.go are the tools below them.
package document
