package target

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/batchctl/batchctl/pkg/local/api"
)

// errNoStream is the error of a target whose service has no stream of changes.
var errNoStream = errors.New("the target does not report changes")

// Changes calls changed when something changes at a running local engine, and once at the beginning. It returns when
// ctx or the engine ends. The error is for other targets, and for an engine in this process.
func (t *Target) Changes(ctx context.Context, changed func()) error {
	if !t.IsLocal() || t.Engine != nil || t.Config.BaseEndpoint == nil {
		return errNoStream
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, *t.Config.BaseEndpoint+api.ChangesPath, nil)
	if err != nil {
		return err
	}
	key, err := t.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	none := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(ctx, key, r, hex.EncodeToString(none[:]), "batch", t.Config.Region,
		time.Now()); err != nil {
		return err
	}
	// The engine is on this machine: a proxy of the environment is not for it.
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the engine answers %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if lines.Text() == "event: change" {
			changed()
		}
	}
	return lines.Err()
}
