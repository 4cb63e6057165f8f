package modeltest

import (
	"context"
	"testing"
)

// Must calls an operation of a client of the SDK, which must succeed.
func Must[In, Out, Options any](t testing.TB, operation func(context.Context, *In, ...func(*Options)) (*Out, error),
	in *In) *Out {
	t.Helper()
	out, err := operation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
