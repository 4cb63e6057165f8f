package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// compactText and nativeText are valid files of about 5 KB.
func compactText() string {
	var b strings.Builder
	b.WriteString(`{
  "$schema": "../schemas/job.schema.json",
  "name": "resnet-train",
  "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.4.0",
  "command": ["python", "train.py", "--epochs", "Ref::epochs"],
  "parameters": { "epochs": "10" },
  "resources": { "vcpus": 8, "memory": "30 GiB", "gpus": 1, "sharedMemory": "8 GiB" },
  "secrets": { "WANDB_KEY": "arn:aws:secretsmanager:us-east-1:123456789012:secret:wandb" },
  "retryStrategy": { "attempts": 3, "evaluateOnExit": [ { "onStatusReason": "Host EC2*", "action": "RETRY" },
                                                        { "onReason": "*", "action": "EXIT" } ] },
  "timeout": "2h",
  "mountPoints": [{ "sourceVolume": "data", "containerPath": "/data", "readOnly": true }],
  "volumes": [{ "name": "data", "host": { "sourcePath": "/mnt/data" } }],
  "tags": { "Team": "research", "CostCenter": "CC-123" },
  "environment": {`)
	for i := range 60 {
		fmt.Fprintf(&b, "\n    \"SETTING_%02d\": \"s3://data/experiments/run-%02d/configuration\",", i, i)
	}
	return b.String() + "\n    \"LAST\": \"1\"\n  }\n}\n"
}

func nativeText() string {
	var b strings.Builder
	b.WriteString(`{
  "jobDefinitionName": "resnet-train",
  "type": "container",
  "containerProperties": {
    "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.4.0",
    "resourceRequirements": [{ "type": "VCPU", "value": "8" }, { "type": "MEMORY", "value": "30720" }],
    "environment": [`)
	for i := range 50 {
		fmt.Fprintf(&b, "\n      { \"name\": \"SETTING_%02d\", \"value\": \"s3://data/experiments/run-%02d/configuration\" },", i, i)
	}
	return b.String() + "\n      { \"name\": \"LAST\", \"value\": \"1\" }\n    ]\n  },\n  \"tags\": { \"Team\": \"research\" }\n}\n"
}

// BenchmarkLoad measures Load of a valid file, and of an invalid one, which the validator
// library checks, and the parts of Load.
func BenchmarkLoad(b *testing.B) {
	for name, text := range map[string]string{
		"compact": compactText(), "native": nativeText(),
		"wrong": strings.Replace(compactText(), `"timeout": "2h"`, `"timeout": 2`, 1),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, diags := Load(diag.NewSource("x", text), Options{}); diags.HasErrors() != (name == "wrong") {
					b.Fatal(diags)
				}
			}
		})
	}
	src := diag.NewSource("x", compactText())
	root, _ := jsontree.Parse(src)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			jsontree.Parse(src)
		}
	})
	b.Run("kind", func(b *testing.B) {
		bare := without(root, []string{"$schema"})
		for b.Loop() {
			kindOf(bare)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(root, KindJob)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			judge(root, KindJob)
		}
	})
}

// BenchmarkFirstLoad measures what the first file of a process needs in addition: reading
// the schemas and compiling a part of them, compared with the validator library.
func BenchmarkFirstLoad(b *testing.B) {
	root, _ := jsontree.Parse(diag.NewSource("x", compactText()))
	b.Run("shape", func(b *testing.B) {
		for b.Loop() {
			if !shapeAt(openSchemaFiles(), KindJob.location())().takes(root) {
				b.Fatal("refused")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			compileOnce(KindJob)()
		}
	})
}
