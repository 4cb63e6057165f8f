package ecs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// checkRequests holds requests against AWS's own model of ECS, as botocore ships it: every
// member's name and type, and what is required.
const checkRequests = `
import json, re, sys
import botocore.session, botocore.validate
ecs = botocore.session.get_session().get_service_model("ecs")
bad = 0
for path in sys.argv[1:]:
    for operation, text in re.findall(r"^# aws ecs ([a-z-]+) .*\n(\{\n(?:.*\n)*?\})", open(path).read(), re.M):
        name = "".join(word.capitalize() for word in operation.split("-"))
        report = botocore.validate.ParamValidator().validate(json.loads(text), ecs.operation_model(name).input_shape)
        print(path, name, report.generate_report() or "ok")
        bad += report.has_errors()
sys.exit(bad > 0)
`

func TestAgainstBotocore(t *testing.T) {
	testtool.Works(t, "python3", "-c", "import botocore")
	golden, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("python3", append([]string{"-c", checkRequests}, golden...)...).CombinedOutput()
	if err != nil || strings.Count(string(said), " ok\n") != 2*len(golden) {
		t.Errorf("%v\n%s", err, said)
	}
}
