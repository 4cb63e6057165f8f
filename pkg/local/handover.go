package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/text"
)

// A newer batchctl can replace a background engine. The older engine makes way only while it has no
// unfinished job and no client is connected: the next engine would end attempts that run, and it
// lacks the secrets of jobs that wait. The older engine leaves its connection file, as an engine
// that was killed does. So the next engine takes over its address and key, and clients that have
// read that file continue.

// restTime limits how long an engine without jobs waits for the connections of clients to close. The
// command that asks has just closed one.
const restTime = time.Second

var errForeground = errors.New("the engine runs in the foreground, so only its own command stops it")

// handOver makes the engine accept no more jobs and end, or returns why it continues.
func (e *Engine) handOver(ctx context.Context) error {
	if len(e.options.Background) == 0 {
		return errForeground
	}
	if n := e.Active(); n > 0 {
		return fmt.Errorf("it has %s", text.Count(n, "unfinished job"))
	}
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	active, clients := 0, 0
	err := e.waiters.wait(ctx, 0, func() bool {
		active, clients = e.model.Active, len(e.clients.open)
		if e.shutdown {
			return true // another command has asked first
		}
		if active+clients > 0 {
			return false
		}
		e.shutdown = true
		close(e.leaving)
		return true
	})
	switch {
	case err == nil:
		return nil
	case active > 0:
		return fmt.Errorf("it has %s", text.Count(active, "unfinished job"))
	}
	return fmt.Errorf("it has %s", text.Count(clients, "connected client"))
}

// StaysError reports that an engine does not make way for a newer one, and why.
type StaysError struct{ Why string }

// Error is the reason.
func (e *StaysError) Error() string { return e.Why }

// HandOver asks the engine to make way for a newer one, which the caller then starts with
// Background. Jobs and clients of the engine continue undisturbed. The error is a *StaysError if the
// engine is in use. Any other error means that it does not answer, or is too old to hand over.
func (c Connection) HandOver(ctx context.Context) error {
	if len(c.Background) == 0 {
		return &StaysError{errForeground.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*restTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint+api.HandOverPath, nil)
	if err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	none := sha256.Sum256(nil)
	key := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, key, r, hex.EncodeToString(none[:]), "batch", c.Region,
		time.Now()); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	live := c.live()
	defer live.CloseIdleConnections()
	answer, err := live.Do(r)
	if err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	defer answer.Body.Close()
	var text struct{ Message string }
	problem := json.NewDecoder(answer.Body).Decode(&text)
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusConflict:
		return &StaysError{cmp.Or(text.Message, "the engine is in use")}
	}
	return errors.Join(fmt.Errorf("hand over: the engine answers %s", answer.Status), problem)
}
