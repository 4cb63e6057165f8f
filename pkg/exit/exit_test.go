package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// locked is an error that knows what to do.
type locked struct{ error }

func (locked) Remedy() string { return "unlock it" }

func TestRemedy(t *testing.T) {
	inner := locked{errors.New("locked")}
	for _, c := range []struct {
		got                 *exit.Failure
		code                int
		message, hint, name string
	}{
		{exit.From(fmt.Errorf("open: %w", inner)), exit.NotDone, "open: locked", "unlock it", "From"},
		{exit.Fail(exit.Problem, "open x: %v", inner).Try("look elsewhere"), exit.Problem, "open x: locked", "unlock it", "Try after a remedy"},
		{exit.Fail(exit.NotDone, "open x: %v", inner).Then("open x"), exit.NotDone, "open x: locked", "unlock it; then: open x", "Then after a remedy"},
		{exit.From(errors.New("a\nb")).Try("look"), exit.NotDone, "a; b", "look", "Try"},
		{exit.Fail(exit.NotDone, "x").Then("open x"), exit.NotDone, "x", "repeat: open x", "Then"},
	} {
		if c.got.Code != c.code || c.got.Message != c.message || c.got.Hint != c.hint {
			t.Errorf("%s: %+v", c.name, c.got)
		}
	}
}
