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
// A submission whose SubmitJob gets no answer takes this way:
//
//	Client.Submit        the caller's entrance (submit.go)
//	Client.newRun        a run with an intent for each job of the plan (intent.go)
//	run.open             the intents are on disk before the first call (run.go, runlog.go)
//	runner.carryOut      rounds of sending and waiting, then run.close (runner.go, close.go)
//	runner.send          definition, staged texts, resource, then the job itself
//	sender.submitOnce    one request; no answer is an AmbiguousError (send.go)
//	run.note             "unclear" is in the log before the search begins
//	finder.search        searches for the job until the listing has settled (find.go)
//	run.accepted         the job was listed: its id is in the log
//	run.note             "checked" follows if only one request was sent; otherwise duplicateChecks searches
//	                     for duplicates a minute later and ends them (lastcheck.go)
//
// No file uses a file that uses it, directly or not. By purpose, from the callers to the disk:
//
//	the entrances      submit.go, retry.go with retryrequest.go; close.go takes a run over and closes it
//	the intents        intent.go, request.go
//	a run in progress  runner.go; stop.go after a rejection
//	jobs that wait     follow.go, which also sends the messages about ends
//	failed jobs        climb.go runs them again, and cancels those that wait for capacity
//	other targets      targets.go
//	duplicates         duplicates.go at one target, lastcheck.go at all, also a day later
//	a call             send.go, find.go; answers.go reads rejections
//	before a call      prepare.go: definitions, texts, consumable resources
//	leftovers          leftovers.go
//	ended jobs         recall.go, memory.go; package attempts records what each attempt used
//	the settings       client.go
//	a run as state     run.go, job.go; replay.go reads its log
//	the ledger         ledger.go, entries.go, runs.go
//	the log of a run   runlog.go (what always holds), lines.go (sealed lines)
//	the disk           disk.go, lock_unix.go, lock_windows.go
package once
