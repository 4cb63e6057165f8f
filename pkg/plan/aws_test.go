package plan

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// judge validates each request with botocore, which is what the aws CLI does
// before it sends anything.
const judge = `
import json, sys
import botocore.session
from botocore.validate import ParamValidator
model = botocore.session.Session().get_service_model("batch")
bad = 0
for r in json.load(sys.stdin):
    report = ParamValidator().validate(r["input"], model.operation_model(r["operation"]).input_shape)
    if report.has_errors():
        bad += 1
        print(r["case"], r["operation"], report.generate_report())
sys.exit(1 if bad else 0)
`

// Every request of every plan in testdata is accepted by the aws CLI.
func TestTheAWSCLITakesEveryRequest(t *testing.T) {
	testtool.Works(t, "python3", "-c", "import botocore")
	type request struct {
		Case      string          `json:"case"`
		Operation string          `json:"operation"`
		Input     json.RawMessage `json:"input"`
	}
	var all []request
	add := func(name string, p *Plan) {
		for _, r := range p.Requests() {
			input, err := wire.Marshal(r.Input)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, request{name, r.Operation, input})
		}
	}
	for _, a := range cases(t) {
		if p, _ := build(t, a); p != nil {
			add(a.Name, p)
		}
	}
	for name, c := range plans() {
		add("sweep/"+name, c.mustBuild(t))
	}
	if len(all) < 15 {
		t.Fatalf("only %d requests to judge", len(all))
	}
	stdin, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", judge)
	cmd.Stdin = strings.NewReader(string(stdin))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("botocore refuses: %v\n%s", err, out)
	}
}
