package apply

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// breaking breaks the answers of a server: values are missing, or have another type.
type breaking struct {
	aws.HTTPClient
	r *rand.Rand
}

func (b *breaking) Do(r *http.Request) (*http.Response, error) {
	answer, err := b.HTTPClient.Do(r)
	if err != nil {
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	var v any
	if err == nil && json.Unmarshal(text, &v) == nil {
		text, err = json.Marshal(b.broken(v))
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, err
}

// broken returns a value with one of 30 of its parts replaced.
func (b *breaking) broken(v any) any {
	if b.r.IntN(30) == 0 {
		return []any{nil, true, 1e300, -1, "", "\x1b[2J", []any{}, []any{nil, "x", object{}}, object{}, object{"": object{"": nil}}}[b.r.IntN(10)]
	}
	switch v := v.(type) {
	case object:
		for name := range v {
			v[name] = b.broken(v[name])
		}
	case []any:
		for i := range v {
			v[i] = b.broken(v[i])
		}
	}
	return v
}

// TestBrokenAnswers reads broken answers. Whatever a server sends, no command may panic.
func TestBrokenAnswers(t *testing.T) {
	a, cut := engine(t)
	text := resources([]string{environment("cpu", nil), environment("big", nil)}, []string{queue("q", 1, "cpu", "big")},
		`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "a"}]}}]`, `"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3}]`)
	applied(t, a, Options{Owner: "test"}, text)
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: a.API.Options().BaseEndpoint, Credentials: a.API.Options().Credentials}
	read := 0
	for seed := range uint64(400) {
		cfg.HTTPClient = &breaking{cut, rand.New(rand.NewPCG(seed, 1))}
		state, err := (&Account{RPC: rpc.New(cfg), API: a.API}).Read(t.Context())
		if err != nil {
			continue
		}
		read++
		_, err = state.Export("")
		_, errTerraform := state.Terraform()
		_, errTemplate := state.Template()
		for _, err := range []error{err, errTerraform, errTemplate} {
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		for _, o := range []Options{{}, {Owner: "test", Prune: true, Replace: true}} {
			NewPlan([]*document.File{file(t, text)}, state, o)
		}
		for _, k := range kinds {
			for _, shape := range []object{nil, {}} {
				k.described(shape)
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d answers were read", read)
	}
}
