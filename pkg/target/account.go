package target

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// accounts caches in the state directory which account an access key belongs to. That never
// changes, and querying it costs a call per command. The file has a hash of the key's id and the
// endpoint, since test servers may accept the same key.
type accounts struct{ path string }

// mostAccounts is how many are cached; then the file starts again empty. Roles get new keys every
// few hours.
const mostAccounts = 200

// AccountsIn returns the cache in a state directory.
func AccountsIn(stateDir string) accounts { return accounts{filepath.Join(stateDir, "accounts.json")} }

// Of returns the account of the credentials, from the cache or by calling query.
func (a accounts) Of(ctx context.Context, cfg aws.Config, query func(context.Context,
	aws.Config) (string, error)) (string, error) {
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(credentials.AccessKeyID + " " + EndpointOf(cfg)))
	key := hex.EncodeToString(sum[:16])
	known := a.read()
	if account := known[key]; account != "" {
		return account, nil
	}
	account, err := query(ctx, cfg)
	if err == nil && account != "" {
		if len(known) >= mostAccounts {
			clear(known)
		}
		known[key] = account
		a.write(known)
	}
	return account, err
}

func (a accounts) read() map[string]string {
	known := map[string]string{}
	if text, err := os.ReadFile(a.path); err == nil && json.Unmarshal(text, &known) != nil {
		return map[string]string{} // it is only a cache
	}
	return known
}

// write saves the cache. It ignores errors: the account is then queried again.
func (a accounts) write(known map[string]string) {
	dir := filepath.Dir(a.path)
	text, err := json.Marshal(known)
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	next, err := os.CreateTemp(dir, "accounts") // mode 0600
	if err != nil {
		return
	}
	_, err = next.Write(text)
	if closed := next.Close(); err != nil || closed != nil || os.Rename(next.Name(), a.path) != nil {
		os.Remove(next.Name())
	}
}
