package term

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/secret/secrettest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// maskedDocument has the places where a document can have a credential.
type maskedDocument struct {
	types.JobDetail
	Note   string                        `json:"note"`
	Count  int                           `json:"count"`
	Values map[string]any                `json:"values"`
	Raw    json.RawMessage               `json:"raw"`
	Shape  wire.Native[*types.JobDetail] `json:"shape,omitzero"`
}

func TestMasked(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, c := range secrettest.New(seed).All() {
		quoted, _ := json.Marshal(map[string]string{c.Name: c.Value})
		container := &types.ContainerDetail{Environment: []types.KeyValuePair{
			{Name: aws.String(c.Name), Value: aws.String(c.Value)}, {Name: aws.String("MODE"), Value: aws.String("fast")}}}
		detail := types.JobDetail{JobId: aws.String("273ad2f0-651c-4ce8-b72e-58f2d99d6e91"), Container: container,
			Tags: map[string]string{c.Name: c.Value}, CreatedAt: aws.Int64(1795680357976), Status: types.JobStatusFailed}
		document := []maskedDocument{{JobDetail: detail, Count: 3, Values: map[string]any{c.Name: c.Value, "loss": 0.5},
			Raw: quoted, Shape: wire.Native[*types.JobDetail]{Shape: &detail}}}
		if !c.Named {
			document[0].Note, container.Command = "note: "+c.Value, []string{"run", c.Value}
		}
		before, err := JSONText(document)
		if err != nil {
			t.Fatal(err)
		}
		masked, err := Masked(document)
		if err != nil {
			t.Fatalf("%s: %v", c.Vendor, err)
		}
		text, err := JSONText(masked)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), c.Secret) {
			t.Errorf("the credential of %s is in\n%s", c.Vendor, text)
		}
		d := masked[0]
		if aws.ToString(d.JobId) != *detail.JobId || aws.ToInt64(d.CreatedAt) != *detail.CreatedAt || d.Count != 3 || d.Values["loss"] != 0.5 ||
			aws.ToString(d.Container.Environment[1].Value) != "fast" || aws.ToString(d.Shape.Shape.JobId) != *detail.JobId || len(text) > len(before) {
			t.Errorf("%s: the rest has changed:\n%s", c.Vendor, text)
		}
		if after, _ := JSONText(document); string(after) != string(before) {
			t.Errorf("%s: the document itself has changed:\n%s", c.Vendor, after)
		}
	}
	// Without a credential, the document is the same one, and need not convert back.
	plain := &struct{ F func() }{}
	if _, err := Masked(plain); err == nil {
		t.Error("a function is not JSON")
	}
	same := &maskedDocument{Note: "nothing"}
	if masked, err := Masked(same); masked != same || err != nil {
		t.Errorf("%v, %v", masked, err)
	}
}
