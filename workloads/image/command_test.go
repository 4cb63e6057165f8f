package image

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	stdimage "image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, story bytes.Buffer
	err = Run(t.Context(), gpu.Platform{}, args, &out, &story)
	return out.String(), story.String(), err
}

func results(t *testing.T, out string) []measure.Result {
	t.Helper()
	var all []measure.Result
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var r measure.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		all = append(all, r)
	}
	return all
}

func files(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRunText(t *testing.T) {
	out, _, err := run(t, "--sizes", "1,65", "--batch", "1,3", "--repeats", "2", "--warmup", "0")
	if err != nil {
		t.Fatal(err)
	}
	want := `^Device cpu \(.+\), \d+ threads, kernel (?:avx512|avx2|neon|go), go.+\n` + strings.Repeat(
		`(Gaussian blur|Sobel edges|Half resize|Bilinear resize|Lanczos resize|Brightness|Normalise) (1x1|65x65) batch [13]: [0-9.]+ seconds \((?:uint8|float32), .*[0-9.]+ MPixel/s, median of 2, spread [0-9.]+ %, first call [0-9.]+ s, verified\)(?:: machine busy, not a measurement)?\n`, 28) +
		`Total: [0-9.]+ seconds(?: \(\d+ of \d+ rows\): machine busy, not a measurement)?\n$`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("got\n%s", out)
	}
}

func TestRunJSON(t *testing.T) {
	out, _, err := run(t, "--sizes", "40", "--batch", "2", "--operations", "gaussian-blur", "--sigma", "3", "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	all := results(t, out)
	if len(all) != 1 {
		t.Fatalf("got %d lines", len(all))
	}
	r := all[0]
	if r.Workload != "image" || r.Operation != "gaussian-blur" || r.Width != 40 || r.Batch != 2 || r.Parameters["sigma"] != 3 ||
		!r.Verified || r.MPixels <= 0 || r.Kernel != kernelNames()[0] || r.Device.Kind != measure.CPU {
		t.Errorf("got %+v", r)
	}
}

func TestFolder(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "results")
	put(t, filepath.Join(in, "b.png"), encoded(t, png.Encode, pattern(33, 21)))
	put(t, filepath.Join(in, "a.jpg"), encoded(t, asJPEG, pattern(10, 10)))
	put(t, filepath.Join(in, "notes.txt"), []byte("not an image"))
	stdout, stderr, err := run(t, "--input", in, "--output", out, "--operations", "sobel,resize-bilinear", "--width", "11", "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	if stderr != "1/2 a.jpg 10x10\n2/2 b.png 33x21\n" {
		t.Errorf("progress is %q", stderr)
	}
	if got := files(t, out); got != "a.resize-bilinear.jpg a.sobel.jpg b.resize-bilinear.png b.sobel.png" {
		t.Errorf("wrote %s", got)
	}
	for _, r := range results(t, stdout) {
		if r.Batch != 2 || r.Size != "mixed sizes" || r.Repeats != 1 {
			t.Errorf("got %+v", r)
		}
	}
	small, err := inspect(filepath.Join(out, "b.resize-bilinear.png"))
	if err != nil || small.shape != (Shape{W: 11, H: 7, Channels: 3}) {
		t.Errorf("got %v, %v", small.shape, err)
	}
}

func TestOneFile(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "x.png"), encoded(t, png.Encode, pattern(1, 1)))
	stdout, _, err := run(t, "--input", path)
	if err != nil || !strings.Contains(stdout, "Gaussian blur 1x1 batch 1: ") || strings.Count(stdout, "\n") != 9 {
		t.Errorf("got %s, %v", stdout, err)
	}
}

// TestFolderGoesOn checks that one bad file fails the program only after the good ones are done.
func TestFolderGoesOn(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	good := encoded(t, png.Encode, pattern(64, 64))
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 1
	put(t, filepath.Join(in, "a.png"), damaged)
	put(t, filepath.Join(in, "b.png"), good)
	stdout, _, err := run(t, "--input", in, "--output", out, "--operations", "sobel")
	if err == nil || !strings.Contains(err.Error(), "a.png: png: invalid format: ") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(stdout, "Sobel edges 64x64 batch 1: ") || files(t, out) != "b.sobel.png" {
		t.Errorf("got %s and %s", stdout, files(t, out))
	}
}

func TestGeneratedOutput(t *testing.T) {
	out := t.TempDir()
	if _, _, err := run(t, "--sizes", "20", "--batch", "1,2", "--operations", "resize-half", "--output", out); err != nil {
		t.Fatal(err)
	}
	if got := files(t, out); got != "generated-20x20-1.input.png generated-20x20-1.resize-half.png generated-20x20-2.input.png generated-20x20-2.resize-half.png" {
		t.Errorf("wrote %s", got)
	}
	if _, _, err := run(t, "--sizes", "20", "--batch", "1", "--operations", "normalise", "--output", t.TempDir()); err != nil {
		t.Error(err)
	}
}

// TestResultsOfOneName checks that inputs which differ only in their extension are rejected: float
// results all get .npy.
func TestResultsOfOneName(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	put(t, filepath.Join(in, "cat.jpg"), encoded(t, asJPEG, pattern(9, 5)))
	put(t, filepath.Join(in, "cat.png"), encoded(t, png.Encode, pattern(9, 5)))
	stdout, _, err := run(t, "--input", in, "--output", out, "--operations", "sobel,normalise")
	if err == nil || !strings.Contains(err.Error(), "cat.png would both become "+filepath.Join(out, "cat.normalise.npy")+"; rename one, or omit normalise") || stdout != "" {
		t.Errorf("got %s, %v", stdout, err)
	}
	if _, _, err := run(t, "--input", in, "--output", out, "--operations", "sobel"); err != nil || files(t, out) != "cat.sobel.jpg cat.sobel.png" {
		t.Errorf("got %s, %v", files(t, out), err)
	}
	if _, _, err := run(t, "--input", in, "--operations", "normalise"); err != nil {
		t.Error(err)
	}
}

func TestFolderOfFloats(t *testing.T) {
	out := t.TempDir()
	path := put(t, filepath.Join(t.TempDir(), "x.jpg"), encoded(t, asJPEG, pattern(9, 5)))
	if _, _, err := run(t, "--input", path, "--output", out, "--operations", "normalise"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(out, "x.normalise.npy")); err != nil || len(data) != 128+9*5*3*4 {
		t.Errorf("%d bytes, %v, in %s", len(data), err, files(t, out))
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--operations blur", "unknown operations blur"},
		{"--sigma 0", "want a number from 0.1 to 20"},
		{"--input x --sizes 20", "--sizes applies to generated images"},
		{"--input x --batch 2", "--batch applies to generated images"},
		{"--scale 0.5 --width 3", "--scale excludes --width and --height"},
		{"--inptu x", "did you mean --input?"},
		{"--kernel cuda", "add --device cuda, or choose one for the CPU: "},
		{"--device cuda --kernel go", "--kernel go computes on the CPU; with --device cuda, omit it or use cuda"},
		{"--device cuda --kernel gpu", "unknown kernel gpu (allowed: "},
		{"--device cuda --input x --gpus 2", "files are computed one at a time, on one GPU"},
		{"--gpus 1", "--gpus applies to GPUs; add --device cuda"},
		{"--binding libcuda", "--binding applies to GPUs; add --device cuda"},
	} {
		stdout, _, err := run(t, strings.Fields(test.args)...)
		var usage *measure.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%s: got %q, %v", test.args, stdout, err)
		}
	}
}

// readOnly is a folder in which files cannot be created, not even by root if the system has such a
// folder.
func readOnly(t *testing.T) string {
	if _, err := os.Stat("/proc/self"); err == nil {
		return "/proc/self"
	}
	folder := t.TempDir()
	if os.Chmod(folder, 0o555); os.Getuid() == 0 {
		return filepath.Join(folder, "a", "\x00")
	}
	return folder
}

// TestErrorsBeforeTheWork checks that detectable errors stop the program before any output.
func TestErrorsBeforeTheWork(t *testing.T) {
	folder := t.TempDir()
	line := put(t, filepath.Join(t.TempDir(), "line.png"), encoded(t, png.Encode, stdimage.NewGray(stdimage.Rect(0, 0, 300_000, 1))))
	photo := put(t, filepath.Join(t.TempDir(), "photo.jpg"), encoded(t, asJPEG, pattern(2000, 2)))
	whole := encoded(t, png.Encode, pattern(64, 64))
	file := put(t, filepath.Join(folder, "file.png"), whole)
	cut := put(t, filepath.Join(t.TempDir(), "cut.png"), whole[:len(whole)/2])
	claims := put(t, filepath.Join(t.TempDir(), "claims.png"), bomb(t))
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--input", filepath.Join(folder, "none")}, "no such file or directory"},
		{[]string{"--input", cut}, "cut.png: the file is truncated; copy it again"},
		{[]string{"--input", claims}, "claims.png: 60000x60000: a file of 73 bytes cannot contain that many pixels"},
		{[]string{"--input", file, "--output", readOnly(t)}, "prepare --output: "},
		{[]string{"--input", file, "--output", filepath.Join(file, "x")}, "prepare --output: "},
		{[]string{"--output", filepath.Join(file, "x")}, "prepare --output: "},
		{[]string{"--input", folder, "--output", folder}, "it is the input folder"},
		{[]string{"--sizes", "65535", "--batch", "10000"}, "a batch of 10000 images of 65535x65535 needs "},
		{[]string{"--input", line, "--height", "65535"}, "line.png, an image of 300000x1, would become 19660500000x65535 with resize-bilinear, and a side has at most 2147483647 pixels; choose a smaller --scale"},
		{[]string{"--input", photo, "--scale", "40", "--output", t.TempDir()}, "would become 80000x80 with resize-bilinear, and a side has at most 65535 pixels"},
		{[]string{"--device", "cuda"}, "--device cuda: "},
	} {
		stdout, stderr, err := run(t, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout+stderr != "" {
			t.Errorf("%v: got %q, %q, %v", test.args, stdout, stderr, err)
		}
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	path := put(t, filepath.Join(t.TempDir(), "x.png"), encoded(t, png.Encode, pattern(9, 9)))
	for _, args := range [][]string{{"--sizes", "50"}, {"--input", path}} {
		var out, story bytes.Buffer
		err := Run(ctx, gpu.Platform{}, args, &out, &story)
		if err == nil || !strings.Contains(err.Error(), "stopped before it finished: terminated signal received") || strings.Contains(out.String(), "seconds") {
			t.Errorf("%v: got %q, %v", args, out.String(), err)
		}
	}
}

func TestHelp(t *testing.T) {
	out, _, err := run(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range Operations() {
		if !strings.Contains(out, op.Name+" ") || !strings.Contains(out, op.Doc) {
			t.Errorf("%s is missing in\n%s", op.Name, out)
		}
	}
}
