package once

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/client"
)

// notVisible reports the rejection of a revision or consumable resource that was created a moment
// ago and has not reached every part of the service.
func notVisible(err error) bool {
	return notFound(err, "definition") || notFound(err, "consumable")
}

// resourceNotFound reports that no consumable resource has the name.
func resourceNotFound(err error) bool { return notFound(err, "") }

// wrongClock reports a rejection after which the SDK would sign again, by the service's clock.
func wrongClock(err error) bool {
	again, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && again.RetryableError() && client.Refused(err)
}

// notFound reports the rejection of a missing object of a kind.
func notFound(err error, kind string) bool {
	if err == nil || !client.Refused(err) {
		return false
	}
	text := strings.ToLower(client.Cause(err))
	return strings.Contains(text, kind) &&
		(strings.Contains(text, "not found") || strings.Contains(text, "not exist") ||
			strings.Contains(text, "notfound"))
}

// firstPause and longPause bound the pauses of fullJitter.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 20 * time.Second
)

// fullJitter returns a random pause between zero and a limit that doubles with each try.
func fullJitter(try int) time.Duration {
	return rand.N(min(firstPause<<min(try-1, 10), longPause))
}
