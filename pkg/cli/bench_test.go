package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// BenchmarkValidate checks a directory of valid job files of about 5 KB, all
// rules. .ci/bench validate compares the whole process with ajv-cli.
func BenchmarkValidate(b *testing.B) {
	const files = 1000
	dir := b.TempDir()
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("%04d.json", i))
		if err := os.WriteFile(path, []byte(fiveKilobytes(i)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		code := cli.Main(b.Context(), []string{"batchctl", "validate", dir},
			term.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		if code != exit.OK {
			b.Fatalf("exit code %d", code)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
}

func fiveKilobytes(i int) string {
	var environment strings.Builder
	for k := range 60 {
		if k > 0 {
			environment.WriteString(",\n")
		}
		fmt.Fprintf(&environment, `    "VARIABLE_%d": "value %d of job %d: s3://data/experiment-%d/part-%d"`, k, k, i, i, k)
	}
	return fmt.Sprintf(`{
  "name": "job-%d",
  "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.4.0",
  "command": ["python", "train.py", "--epochs", "Ref::epochs"],
  "parameters": { "epochs": "10" },
  "resources": { "vcpus": 4, "memory": "8 GiB", "sharedMemory": "1 GiB" },
  "environment": {
%s
  },
  "retryStrategy": {
    "attempts": 3,
    "evaluateOnExit": [{ "onStatusReason": "Host EC2*", "action": "RETRY" }, { "onReason": "*", "action": "EXIT" }]
  },
  "timeout": "2h",
  "tags": { "Team": "research", "CostCenter": "CC-%d" }
}
`, i, environment.String(), i)
}
