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
// The files: run.go has the states, intent.go the record before a call, submit.go the
// call, settle.go the search after a lost answer, duplicates.go the duplicates, deferred.go jobs
// that wait in the client, climb.go the jobs that run a failed one again, notices.go messages
// about the end of jobs, runlog.go and ledger.go the files, resume.go and retry.go the
// commands that use them later.
package once
