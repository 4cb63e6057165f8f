package model

import (
	"time"
)

// invocationMemory is how long a call is remembered. SDKs give up after minutes.
const invocationMemory = time.Hour

// invocations are the calls of the last hour with their results: a job's id, or a definition's.
type invocations struct {
	results map[string]string
	// order holds the ids by age, so that old ones are forgotten.
	order []invoked
}

// invoked is a call with its time.
type invoked struct {
	id string
	at int64
}

// MadeBy returns the id of the job or definition that an earlier call created. again is false for
// an empty or unknown invocation.
func (v *invocations) MadeBy(invocation string) (id string, again bool) {
	id, again = v.results[invocation]
	return id, again
}

// remember records the result of a call and forgets calls that are too old.
func (v *invocations) remember(at int64, id, result string) {
	if id == "" {
		return
	}
	if v.results == nil {
		v.results = map[string]string{}
	}
	for len(v.order) > 0 && v.order[0].at < at-invocationMemory.Milliseconds() {
		delete(v.results, v.order[0].id)
		v.order = v.order[1:]
	}
	v.results[id] = result
	v.order = append(v.order, invoked{id, at})
}
