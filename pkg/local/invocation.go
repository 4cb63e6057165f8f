package local

import "time"

// An SDK that gets no answer asks again, up to its number of retries and with the
// same Amz-Sdk-Invocation-Id. The engine answers a call that it has carried out
// before with what it answered then: a retried SubmitJob makes no second job. AWS
// has no such promise; clients that need it there keep a ledger.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// invocationMemory is how long a call is remembered. SDKs give up after minutes.
const invocationMemory = time.Hour

// invocation is the operation with the client's id of the call; empty for clients
// that send none, and for one that is too long to be one.
func (c *call) invocation() string {
	if id := c.request.Header.Get(invocationHeader); id != "" && len(id) <= 64 {
		return c.operation + " " + id
	}
	return ""
}

// invocations is the calls of the last hour and what they made: a job's id, or a
// definition's.
type invocations struct {
	made map[string]string
	// order holds the ids by age, so that old ones are forgotten.
	order []invoked
}

type invoked struct {
	id string
	at int64
}

func (v *invocations) remember(at int64, id, made string) {
	if id == "" {
		return
	}
	if v.made == nil {
		v.made = map[string]string{}
	}
	for len(v.order) > 0 && v.order[0].at < at-invocationMemory.Milliseconds() {
		delete(v.made, v.order[0].id)
		v.order = v.order[1:]
	}
	v.made[id] = made
	v.order = append(v.order, invoked{id, at})
}
