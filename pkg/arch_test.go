// Package pkg holds the test that keeps the rooms apart.
package pkg_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/batchctl/batchctl/"

// everywhere is the package that every other may import: how texts for people are spelled.
const everywhere = "pkg/text"

// mayImport is who may import whom, test files apart. A new package fails this
// test until its row is written here and in CONTRIBUTING.md.
var mayImport = map[string][]string{
	"cmd/batchctl":           {"pkg/cli", "pkg/cli/cmdline", "pkg/cli/term"},
	"cmd/batchctl-workloads": {"workloads", "workloads/gpu", "workloads/gpu/cu", "workloads/gpu/cublas", "workloads/gpu/libcuda", "workloads/gpu/nvml"},
	"pkg/cli":                {"pkg/batch", "pkg/cli/author", "pkg/cli/benchmark", "pkg/cli/cmdline", "pkg/cli/diagnose", "pkg/cli/engine", "pkg/cli/forecast", "pkg/cli/injob", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/platform", "pkg/cli/preview", "pkg/cli/quickstart", "pkg/cli/results", "pkg/cli/submit", "pkg/cli/term", "pkg/cli/testbed", "pkg/cli/top", "pkg/cli/ui", "pkg/client/once", "pkg/diag", "pkg/exit", "pkg/lsp", "pkg/target", "schemas", "workloads", "workloads/gpu"},
	// For tests: the scripts of the commands.
	"pkg/cli/clitest":                {"pkg/cli", "pkg/cli/cmdline", "pkg/cli/term", "pkg/testtool", "pkg/testtool/golden", "schemas"},
	"pkg/cli/author":                 {"pkg/batch", "pkg/catalog", "pkg/check", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/preview", "pkg/cli/term", "pkg/diag", "pkg/document", "pkg/exit", "pkg/jsontree", "pkg/lint", "pkg/newfile", "pkg/objects", "pkg/target", "pkg/template", "templates"},
	"pkg/cli/benchmark":              {"jobs", "pkg/bench", "pkg/catalog", "pkg/check", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/submit", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/exit", "pkg/explain", "pkg/jsontree", "pkg/newfile", "pkg/plan", "pkg/results", "pkg/target", "workloads"},
	"pkg/cli/platform":               {"pkg/apply", "pkg/batch", "pkg/check", "pkg/cli/author", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/diag", "pkg/document", "pkg/ecs", "pkg/exit", "pkg/explain", "pkg/infra", "pkg/jsontree", "pkg/newfile", "pkg/plan", "pkg/rpc", "pkg/secret", "pkg/target", "templates"},
	"pkg/cli/engine":                 {"pkg/cli/cmdline", "pkg/cli/term", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/local", "pkg/local/events", "pkg/target"},
	"pkg/cli/cmdline":                {"pkg/bench", "pkg/buildinfo", "pkg/catalog", "pkg/cli/term", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/explain", "pkg/local/journal", "pkg/plan", "pkg/stage", "pkg/target", "schemas"},
	"pkg/cli/injob":                  {"pkg/cli/cmdline", "pkg/cli/term", "pkg/document", "pkg/exit", "pkg/newfile", "pkg/objects", "pkg/stage", "pkg/sweep", "pkg/target", "pkg/usage"},
	"pkg/cli/diagnose":               {"pkg/advise", "pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/compare", "pkg/cost", "pkg/diag", "pkg/doctor", "pkg/document", "pkg/exit", "pkg/history", "pkg/newfile", "pkg/plan", "pkg/results", "pkg/target"},
	"pkg/cli/forecast":               {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/term", "pkg/diag", "pkg/exit", "pkg/forecast", "pkg/forecast/observe", "pkg/history", "pkg/newfile", "pkg/report", "pkg/target", "pkg/ui/chart"},
	"pkg/cli/input":                  {"pkg/catalog", "pkg/check", "pkg/cli/cmdline", "pkg/cli/term", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/jsontree", "pkg/target"},
	"pkg/cli/jobs":                   {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/explain", "pkg/jobqueue", "pkg/local", "pkg/local/api/batchapi", "pkg/local/attempt", "pkg/newfile", "pkg/rpc", "pkg/secret", "pkg/target", "pkg/wire"},
	"pkg/cli/preview":                {"pkg/batch", "pkg/catalog", "pkg/check", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/cost", "pkg/diag", "pkg/document", "pkg/exit", "pkg/forecast", "pkg/forecast/observe", "pkg/graph", "pkg/history", "pkg/jsontree", "pkg/lint", "pkg/local/model", "pkg/newfile", "pkg/notify", "pkg/objects", "pkg/plan", "pkg/plantext", "pkg/secret", "pkg/stage", "pkg/target", "pkg/verify"},
	"pkg/cli/quickstart":             {"pkg/cli/author", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/platform", "pkg/cli/preview", "pkg/cli/results", "pkg/cli/submit", "pkg/cli/term", "pkg/diag", "pkg/exit", "pkg/target"},
	"pkg/cli/results":                {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/jobs", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/heatmap", "pkg/newfile", "pkg/objects", "pkg/results", "pkg/secret", "pkg/stage", "pkg/sweep", "pkg/target"},
	"pkg/cli/session":                {"pkg/batch", "pkg/cli/input", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/explain", "pkg/ladder", "pkg/plan", "pkg/sweep", "pkg/target"},
	"pkg/cli/submit":                 {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/term", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/local", "pkg/local/attempt", "pkg/local/container", "pkg/local/hardware", "pkg/newfile", "pkg/objects", "pkg/plan", "pkg/replay", "pkg/stage", "pkg/sweep", "pkg/target"},
	"pkg/cli/testbed":                {"pkg/batch", "pkg/cli/benchmark", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/platform", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/cost", "pkg/diag", "pkg/document", "pkg/exit", "pkg/infra", "pkg/local/container", "pkg/newfile", "pkg/plan", "pkg/rpc", "pkg/target", "pkg/testbed"},
	"pkg/cli/top":                    {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/jobs", "pkg/cli/session", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/exit", "pkg/jobqueue", "pkg/secret", "pkg/target", "pkg/wire"},
	"pkg/cli/term":                   {"pkg/diag", "pkg/exit", "pkg/secret"},
	"pkg/cli/ui":                     {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/submit", "pkg/cli/term", "pkg/cli/ui/forecastpages", "pkg/cli/ui/jobpages", "pkg/cli/ui/page", "pkg/cli/ui/queuepages", "pkg/cli/ui/reportpages", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/newfile", "pkg/rpc", "pkg/secret", "pkg/target", "pkg/ui/logtext", "pkg/ui/web"},
	"pkg/cli/ui/source":              {"pkg/batch", "pkg/cli/cmdline", "pkg/cli/input", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/results", "pkg/cli/session", "pkg/cli/term", "pkg/cli/top", "pkg/cli/ui/show", "pkg/client", "pkg/cost", "pkg/exit", "pkg/explain", "pkg/jobqueue", "pkg/rpc", "pkg/target", "pkg/ui/joblist", "pkg/wire"},
	"pkg/cli/ui/page":                {"pkg/batch", "pkg/cli/term", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/exit", "pkg/graph", "pkg/packed", "pkg/syncmap", "pkg/ui/chart"},
	"pkg/cli/ui/show":                {"pkg/cli/term", "pkg/diag", "pkg/secret"},
	"pkg/cli/ui/uitest":              {"pkg/cli/term", "pkg/client", "pkg/exit"},
	"pkg/cli/ui/jobpages":            {"pkg/advise", "pkg/batch", "pkg/cli/author", "pkg/cli/diagnose", "pkg/cli/jobs", "pkg/cli/preview", "pkg/cli/session", "pkg/cli/term", "pkg/cli/ui/page", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/client", "pkg/cost", "pkg/diag", "pkg/exit", "pkg/explain", "pkg/heatmap", "pkg/history", "pkg/secret", "pkg/sweep", "pkg/syncmap", "pkg/ui/chart", "pkg/ui/joblist", "pkg/usage", "pkg/wire"},
	"pkg/cli/ui/queuepages":          {"pkg/apply", "pkg/batch", "pkg/cli/platform", "pkg/cli/term", "pkg/cli/top", "pkg/cli/ui/page", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/document", "pkg/exit", "pkg/jobqueue", "pkg/ui/chart"},
	"pkg/cli/ui/forecastpages":       {"pkg/cli/forecast", "pkg/cli/preview", "pkg/cli/term", "pkg/cli/ui/page", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/diag", "pkg/document", "pkg/forecast", "pkg/ui/chart"},
	"pkg/cli/ui/reportpages":         {"pkg/advise", "pkg/batch", "pkg/cli/diagnose", "pkg/cli/preview", "pkg/cli/term", "pkg/cli/ui/page", "pkg/cli/ui/show", "pkg/cli/ui/source", "pkg/compare", "pkg/cost", "pkg/exit", "pkg/ui/chart", "pkg/ui/joblist"},
	"pkg/ui/chart":                   {"pkg/draw"},
	"pkg/ui/joblist":                 nil,
	"pkg/ui/logtext":                 nil,
	"pkg/ui/web":                     nil,
	"pkg/apimodel":                   nil,
	"pkg/apply":                      {"pkg/batch", "pkg/diag", "pkg/document", "pkg/jsontree", "pkg/lint", "pkg/rpc"},
	"pkg/batch":                      nil,
	"pkg/buildinfo":                  nil,
	"pkg/check":                      {"pkg/catalog", "pkg/diag", "pkg/document", "pkg/jsontree", "pkg/lint", "pkg/lint/cfn", "pkg/yamltree"},
	"pkg/check/checktest":            {"pkg/diag", "pkg/document", "pkg/lint/examples"},
	"pkg/client":                     {"pkg/batch", "pkg/diag", "pkg/errorline", "pkg/plan", "pkg/rpc", "pkg/sweep", "pkg/usage", "pkg/wire"},
	"pkg/compare":                    {"pkg/batch", "pkg/client", "pkg/diag", "pkg/history", "pkg/jsontree", "pkg/plan", "pkg/stage", "pkg/sweep", "pkg/wire"},
	"pkg/client/clienttest":          {"pkg/plan", "pkg/wire"},
	"pkg/client/once":                {"pkg/batch", "pkg/buildinfo", "pkg/checkpoint", "pkg/client", "pkg/client/once/attempts", "pkg/document", "pkg/history", "pkg/jsonlines", "pkg/ladder", "pkg/notify", "pkg/plan", "pkg/rpc", "pkg/stage", "pkg/sweep", "pkg/wire"},
	"pkg/client/once/attempts":       {"pkg/batch", "pkg/client", "pkg/history", "pkg/rpc", "pkg/stage", "pkg/sweep", "pkg/usage", "pkg/wire"},
	"pkg/ecs":                        {"pkg/batch", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/jsontree", "pkg/plan", "pkg/rpc", "pkg/stage", "pkg/wire"},
	"pkg/errorline":                  {"pkg/ui/logtext"},
	"pkg/explain":                    {"pkg/batch", "pkg/catalog", "pkg/client", "pkg/diag", "pkg/document", "pkg/errorline", "pkg/jsontree", "pkg/plan", "pkg/rpc", "pkg/secret", "pkg/stage", "pkg/usage", "pkg/wire"},
	"pkg/doctor":                     {"pkg/diag", "pkg/lint/userdata", "pkg/secret"},
	"pkg/testbed":                    {"pkg/catalog", "pkg/cost", "pkg/diag", "pkg/exit", "pkg/infra", "pkg/local/container", "pkg/newfile", "templates"},
	"pkg/verify":                     {"pkg/batch", "pkg/catalog", "pkg/diag", "pkg/jsontree", "pkg/plan", "pkg/rpc", "pkg/wire"},
	"pkg/cost":                       {"pkg/batch", "pkg/catalog", "pkg/document", "pkg/plan"},
	"pkg/rpc":                        {"pkg/batch", "pkg/wire"},
	"pkg/jsonlines":                  nil,
	"pkg/syncmap":                    nil,
	"pkg/packed":                     nil,
	"pkg/packed/pack":                {"pkg/packed"},
	"pkg/advise":                     {"pkg/batch", "pkg/catalog", "pkg/cost", "pkg/diag", "pkg/document", "pkg/history", "pkg/jsontree", "pkg/plan"},
	"pkg/forecast":                   {"pkg/catalog", "pkg/diag", "pkg/history", "pkg/local/model"},
	"pkg/forecast/observe":           {"pkg/batch", "pkg/catalog", "pkg/client", "pkg/forecast", "pkg/history", "pkg/jsonlines", "pkg/local/model"},
	"pkg/history":                    {"pkg/batch", "pkg/jsonlines", "pkg/usage"},
	"pkg/plantext":                   {"pkg/batch", "pkg/catalog", "pkg/diag", "pkg/plan"},
	"pkg/jobqueue":                   {"pkg/batch", "pkg/wire"},
	"pkg/ladder":                     {"pkg/batch", "pkg/catalog"},
	"pkg/notify":                     {"pkg/rpc"},
	"pkg/usage":                      nil,
	"pkg/infra":                      {"pkg/batch", "pkg/catalog", "pkg/client", "pkg/diag", "pkg/intrinsic", "pkg/jsontree", "pkg/rpc", "pkg/yamltree"},
	"pkg/local":                      {"pkg/buildinfo", "pkg/local/api", "pkg/local/api/call", "pkg/local/attempt", "pkg/local/events", "pkg/local/hardware", "pkg/local/journal", "pkg/local/logs", "pkg/local/model", "pkg/local/process", "pkg/local/secretsource"},
	"pkg/local/secretsource":         nil,
	"pkg/local/api":                  {"pkg/local/api/batchapi", "pkg/local/api/call", "pkg/local/api/ecsapi", "pkg/local/api/logsapi", "pkg/local/logs", "pkg/local/model", "pkg/wire"},
	"pkg/local/api/batchapi":         {"pkg/batch", "pkg/catalog", "pkg/local/api/call", "pkg/local/api/empty", "pkg/local/attempt", "pkg/local/model", "pkg/local/secretsource", "pkg/wire"},
	"pkg/local/api/call":             {"pkg/local/api/empty", "pkg/local/model", "pkg/wire"},
	"pkg/local/api/ecsapi":           {"pkg/local/api/call", "pkg/local/attempt", "pkg/local/model", "pkg/wire"},
	"pkg/local/api/empty":            nil,
	"pkg/local/api/logsapi":          {"pkg/local/api/call", "pkg/local/insights", "pkg/local/logs", "pkg/local/model", "pkg/wire"},
	"pkg/local/api/logsapi/logstest": {"pkg/local/api/call", "pkg/local/model", "pkg/local/model/modeltest", "pkg/wire"},
	"pkg/local/attempt":              {"pkg/local/logs", "pkg/local/model", "pkg/stage", "pkg/usage"},
	"pkg/local/events":               {"pkg/batch", "pkg/local/api/batchapi", "pkg/local/journal", "pkg/local/model", "pkg/wire"},
	"pkg/local/hardware":             nil,
	"pkg/local/insights":             nil,
	"pkg/local/logs":                 nil,
	"pkg/local/model":                {"pkg/batch", "pkg/catalog", "pkg/wire"},
	"pkg/local/model/modeltest":      {"pkg/diag", "pkg/jsontree", "pkg/lint", "pkg/local/api/call", "pkg/local/attempt", "pkg/local/model", "pkg/local/secretsource"},
	"pkg/local/process":              {"pkg/local/attempt", "pkg/local/model", "pkg/local/process/scan", "pkg/usage"},
	"pkg/local/process/processtest":  {"pkg/local/process/scan", "pkg/testtool"},
	"pkg/local/process/scan":         nil,
	"pkg/local/container":            {"pkg/checkpoint", "pkg/local/attempt", "pkg/local/model", "pkg/local/process", "pkg/stage", "pkg/syncmap", "pkg/usage"},
	"pkg/local/journal":              nil,
	"pkg/lint":                       {"pkg/apimodel", "pkg/batch", "pkg/catalog", "pkg/diag", "pkg/document", "pkg/jsontree", "pkg/ladder", "pkg/lint/cfn", "pkg/lint/examples", "pkg/lint/shape", "pkg/lint/userdata", "pkg/plan", "pkg/secret", "pkg/stage", "pkg/sweep", "pkg/usage", "pkg/yamltree"},
	"pkg/lint/cfn":                   {"pkg/apimodel", "pkg/diag", "pkg/document", "pkg/intrinsic", "pkg/jsontree", "pkg/lint/shape", "pkg/lint/userdata", "pkg/yamltree"},
	"pkg/lint/examples":              {"pkg/document", "pkg/packed"},
	"pkg/lint/shape":                 {"pkg/apimodel", "pkg/diag", "pkg/document", "pkg/jsontree"},
	"pkg/lint/userdata":              {"pkg/diag", "pkg/jsontree", "pkg/secret", "pkg/yamltree"},
	"pkg/lsp":                        {"pkg/check", "pkg/diag", "pkg/document", "pkg/jsontree", "pkg/lint", "schemas"},
	"pkg/plan":                       {"pkg/batch", "pkg/catalog", "pkg/diag", "pkg/document", "pkg/forecast", "pkg/jsontree", "pkg/ladder", "pkg/results", "pkg/secret", "pkg/stage", "pkg/sweep", "pkg/usage", "pkg/wire"},
	"pkg/document":                   {"pkg/apimodel", "pkg/catalog", "pkg/checkpoint", "pkg/diag", "pkg/jsontree", "pkg/ladder", "pkg/results", "pkg/stage", "pkg/sweep", "pkg/usage", "pkg/yamltree", "schemas"},
	everywhere:                       {},
	"pkg/sweep":                      nil,
	"pkg/stage":                      {"pkg/checkpoint", "pkg/diag", "pkg/sweep"},
	"pkg/checkpoint":                 nil,
	"pkg/objects":                    {"pkg/batch", "pkg/checkpoint", "pkg/stage", "pkg/syncmap"},
	"pkg/template":                   {"pkg/diag", "pkg/jsontree", "pkg/objects"},
	// For tests and a benchmark: an S3 in memory, with faults.
	"pkg/objects/s3mem":       nil,
	"pkg/objects/s3mem/serve": {"pkg/objects/s3mem"},
	"pkg/testtool":            nil,
	"pkg/testtool/golden":     nil,
	"pkg/results":             {"pkg/diag", "pkg/usage"},
	"pkg/bench":               {"pkg/catalog", "pkg/diag", "pkg/draw", "pkg/report", "pkg/results", "workloads/measure"},
	"pkg/draw":                nil,
	"pkg/report":              {"pkg/diag", "pkg/draw"},
	"pkg/heatmap":             {"pkg/draw"},
	"pkg/graph":               {"pkg/draw"},
	"pkg/replay":              {"pkg/batch", "pkg/local/attempt", "pkg/local/model"},
	"pkg/jsontree":            {"pkg/diag"},
	"pkg/yamltree":            {"pkg/diag", "pkg/jsontree"},
	"pkg/intrinsic":           {"pkg/batch", "pkg/jsontree"},
	"pkg/diag":                {"pkg/secret"},
	"pkg/secret":              nil,
	// For tests: credentials in the formats of vendors.
	"pkg/secret/secrettest": nil,
	"pkg/wire":              {"pkg/syncmap"},
	"pkg/catalog":           {"pkg/packed"},
	"jobs":                  nil,
	"schemas":               {"pkg/packed"},
	"templates":             {"pkg/packed"},
	"workloads":             {"workloads/gpu", "workloads/gpu/gpuinfo", "workloads/image", "workloads/matrix", "workloads/measure"},
	"workloads/image":       {"workloads/gpu", "workloads/gpu/gemm", "workloads/gpu/pixels", "workloads/image/opencv", "workloads/measure"},
	// Empty without the tag opencv.
	"workloads/image/opencv":        nil,
	"workloads/blas":                nil,
	"workloads/blas/gonumblas":      {"workloads/blas"},
	"workloads/blas/internal/neon":  {"workloads/internal/neon"},
	"workloads/image/internal/neon": {"workloads/internal/neon"},
	"workloads/internal/neon":       nil,
	"workloads/matrix":              {"workloads/blas", "workloads/gpu", "workloads/gpu/gemm", "workloads/measure"},
	"workloads/measure":             {"workloads/gpu"},
	"workloads/gpu":                 nil,
	// The ways to the driver and to the libraries beside it: found when the program runs.
	"workloads/gpu/libcuda":    {"workloads/gpu"},
	"workloads/gpu/cu":         {"workloads/gpu"},
	"workloads/gpu/cu/toolkit": nil,
	"workloads/gpu/cublas":     {"workloads/gpu"},
	"workloads/gpu/nvml":       {"workloads/gpu"},
	// Kernels with their launchers, and how they are compiled.
	"workloads/gpu/gemm":     {"pkg/packed", "workloads/gpu"},
	"workloads/gpu/pixels":   {"pkg/packed", "workloads/gpu"},
	"workloads/gpu/cuda":     nil,
	"workloads/gpu/cuda/ptx": {"workloads/gpu/cuda"},
	"workloads/gpu/gpuinfo":  {"workloads/gpu", "workloads/measure"},
	// For tests alone: a driver without a GPU, and what every binding has to pass.
	"workloads/gpu/fakecuda":   {"pkg/testtool"},
	"workloads/gpu/drivertest": {"workloads/gpu"},
	"pkg/exit":                 nil,
	"pkg/newfile":              {"pkg/exit"},
	"pkg/target":               {"pkg/batch", "pkg/buildinfo", "pkg/cli/term", "pkg/client", "pkg/client/once", "pkg/diag", "pkg/document", "pkg/exit", "pkg/explain", "pkg/jsontree", "pkg/lint", "pkg/local", "pkg/local/api", "pkg/local/api/call", "pkg/local/attempt", "pkg/local/container", "pkg/local/model", "pkg/local/process", "pkg/local/secretsource", "pkg/newfile", "pkg/notify", "pkg/objects", "pkg/plan", "pkg/rpc", "pkg/wire"},
}

type listed struct {
	ImportPath, Name string
	Imports          []string
	GoFiles          []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports,GoFiles", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 { // pkg itself holds only this test
			all = append(all, p)
		}
	}
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		seen[room] = true
		allowed, ok := mayImport[room]
		if !ok {
			t.Errorf("package %s has no row in mayImport: say in one line what it is for, in CONTRIBUTING.md too", room)
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && ours != everywhere && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which its row does not allow", room, ours)
			}
			if strings.HasPrefix(imported, "github.com/aws/aws-sdk-go-v2/service/ec2") {
				t.Errorf("%s imports the SDK's ec2 package, which doubles the build", room)
			}
		}
	}
	for room := range mayImport {
		if !seen[room] {
			t.Errorf("mayImport has a row for %s, which is not there", room)
		}
	}
}

// pure are the packages that only compute.
var pure = []string{"pkg/ladder", "pkg/local/insights", "pkg/local/model"}

// impure are the imports that a pure package cannot have: they read files, networks or clocks, start processes or
// goroutines, or are random.
var impure = []string{"bufio", "context", "crypto/rand", "io", "io/fs", "io/ioutil", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http",
	"os", "os/exec", "os/signal", "path/filepath", "plugin", "runtime", "sync", "syscall", "testing", "unsafe", "golang.org/x/sys/unix"}

// clock are the names of package time that read the clock or wait.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// TestPurePackages reads the files of the pure packages, those of every operating system.
func TestPurePackages(t *testing.T) {
	for _, room := range pure {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", room, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range file.Imports {
				if path, err := strconv.Unquote(v.Path.Value); err != nil || slices.Contains(impure, path) {
					t.Errorf("%s imports %s, and %s is pure", name, path, room)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine, and %s is pure", name, room)
				case *ast.SelectorExpr:
					if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s calls time.%s, and %s is pure", name, n.Sel.Name, room)
					}
				}
				return true
			})
		}
	}
}

// TestNoRoomForEverything refuses the names under which things without a place
// collect.
func TestNoRoomForEverything(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains([]string{"util", "utils", "common", "types", "helpers", "errors", "misc"}, p.Name) {
			t.Errorf("package %s: name it after what it is for", p.ImportPath)
		}
	}
}

var update = flag.Bool("update", false, "write the floors in CONTRIBUTING.md again")

// floor is how many imports lie between a package and the ground, which is the package for everywhere.
func floor(room string) int {
	if room == everywhere {
		return 0
	}
	n := 1
	for _, below := range mayImport[room] {
		n = max(n, floor(below)+1)
	}
	return n
}

// floors draws the import table: a line for each floor, the highest first, wrapped.
func floors() string {
	byFloor := map[int][]string{}
	for room := range mayImport {
		n := floor(room)
		byFloor[n] = append(byFloor[n], strings.TrimPrefix(room, "pkg/"))
	}
	var b strings.Builder
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(byFloor))) {
		slices.Sort(byFloor[n])
		line := fmt.Sprintf("%2d ", n)
		for _, name := range byFloor[n] {
			if len(line)+len(name) > 110 {
				b.WriteString(line + "\n")
				line = "   "
			}
			line += " " + name
		}
		b.WriteString(line + "\n")
	}
	return "```\n" + b.String() + "```\n"
}

// TestContributing compares CONTRIBUTING.md's floors and RATIONALE.md's headings with the import table.
func TestContributing(t *testing.T) {
	const file, begin, end = "../CONTRIBUTING.md", "<!-- floors -->\n", "<!-- /floors -->\n"
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(read)
	before, rest, ok := strings.Cut(text, begin)
	drawn, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("CONTRIBUTING.md has no place for the floors")
	}
	if drawn != floors() {
		if !*update {
			t.Error("the floors in CONTRIBUTING.md are not those of mayImport: run this test with -update")
		} else if err := os.WriteFile(file, []byte(before+begin+floors()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rationale, err := os.ReadFile("../RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, heading := range regexp.MustCompile("(?m)^## (`.*)$").FindAllString(string(rationale), -1) {
		first := ""
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(heading, -1) {
			name, more := strings.CutPrefix(m[1], "…")
			if more {
				name = first + name
			} else {
				first = name
			}
			rows[name]++
		}
	}
	for room := range mayImport {
		if rows[room] == 0 && !(strings.HasPrefix(room, "workloads") && rows["workloads/…"] == 1) {
			t.Errorf("RATIONALE.md has no heading for %s", room)
		}
	}
	for name, n := range rows {
		if _, known := mayImport[name]; n > 1 || !known && name != "workloads/…" {
			t.Errorf("RATIONALE.md has %d headings for %s; mayImport knows it: %v", n, name, known)
		}
	}
}
