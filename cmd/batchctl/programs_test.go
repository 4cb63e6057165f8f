package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// programs is a folder with batchctl and batchctl-workloads.
func programs(t *testing.T) string {
	t.Helper()
	return linked(t, map[string]string{
		"batchctl":           testtool.Program(t, "../batchctl"),
		"batchctl-workloads": testtool.Program(t, "../batchctl-workloads"),
	})
}

// everyProgram is programs with the build of batchctl-workloads for images of CPUs.
func everyProgram(t *testing.T) string {
	t.Helper()
	return linked(t, map[string]string{
		"batchctl":                  testtool.Program(t, "../batchctl"),
		"batchctl-workloads":        testtool.Program(t, "../batchctl-workloads"),
		"batchctl-workloads-static": testtool.Program(t, "../batchctl-workloads", "-tags", "static"),
	})
}

func linked(t *testing.T, programs map[string]string) string {
	t.Helper()
	bin := t.TempDir()
	for name, program := range programs {
		// A hard link, because the programs look for each other in their own folder.
		if err := os.Link(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}
