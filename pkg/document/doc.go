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
//	member_   a member of a job file, all of it; the table in member.go lists the members
//	lower_    from a job to its requests; lower.go begins
//	array_    what gives the children of an array their values: a matrix, a table, commands
//	table_    the formats of an array's table; table.go has its columns and cells
//	platform_ what others ask of a platform file; load_platform.go reads it
//	compact_  the way back, from requests to a job file; compact.go begins
//
// A job file runs through load.go, load_jobs.go, lower.go, and these files:
//
//	lower_defaults.go    the defaults of the platform file and the workflow; waivers
//	means.go             image or definition: how the job says what it runs
//	lower_requests.go    the two requests, with jobDefinition and submitJob
//	lower_references.go  ${{ matrix.x }} in them, with referring.go
//	lower_overlay.go     the options of the command line
//
// Each of them ranges over the table of members. A new member is a row of that table, its
// schema, and a file if it is not in AWS's form. lowering.go has what lower knows of the job so
// far, and values.go reads sizes, counts and durations, with units.go. native.go adds to copies
// of the requests what submit would add, and compact.go takes it out again.
//
// The files refer to each other in one direction. At the bottom are the types that all
// steps share (job.go, file.go, kind.go, platform.go, options.go) and small tools
// (problems.go, nodes.go, places.go, phrase.go, location.go).
package document
