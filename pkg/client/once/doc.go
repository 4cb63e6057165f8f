// Package once submits each job once, however often SubmitJob has to be sent for it, and
// keeps the submissions in a ledger.
//
// AWS Batch has no idempotency token, but its listings can be filtered by name. So batchctl gives
// every job an id before the first call and writes it to disk with the request. If an answer is
// missing, it searches for the job by that id. A job goes through these states; each arrow to the
// right is on disk before the next one begins:
//
//	planned ──► intent ──► sent ──┬── answer ──────────────────────► accepted
//	               │              ├── 4xx ─────────────────────────► refused
//	               │              └── no answer ──► searched ────┬─► accepted  (it is listed)
//	               │                    ▲                        ├─► sent      (a later search, not listed)
//	               │                    │                        └─► unknown   (the run stays open)
//	               │                    └── resume, after a crash or of an open run
//	               └──► waits (when, after) ──┬──► due ──► sent
//	                                          └──► skipped
//
//	accepted ──► FAILED, with rungs ──► climbed ──┬──► intents of the jobs that run it again
//	    │                 ▲                       └──► nothing: no rung applies, or it is used up
//	    └──► cancel (no capacity)
//
//	accepted ──► checked again (secondCheck, lateCheck) ──► the only one, or its duplicates are ended
//
// submit.go, resume.go, take.go and retry.go are the entrances; runner.go carries out a submission step by step:
//
//	the record      intent.go makes it, run.go and job.go hold its states, runlog.go writes it, logtext.go reads it
//	a call          send.go; if the answer is missing, recover.go with find.go, findmany.go and lag.go
//	a second job    duplicates.go, lastcheck.go and recheck.go search for one, twice.go reports it
//	a waiting job   follow.go, ends.go and nextstep.go; climb.go, rungs.go and targets.go run a failed one again
//	the ledger      ledger.go, entries.go, outcomes.go, runs.go and openruns.go; lines.go seals each line
//	the memory      recall.go and memory.go; package attempts records what each attempt used
//	what it made    resources.go and revisions.go list and remove it
package once
