package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Compiler is the program that makes the PTX. Another version makes other text.
const Compiler = "clang-19"

// Target is the oldest device that PTX is for, or with an a at its end the only one. Each has
// the oldest version of PTX that has all that its kernels need, because that decides how old
// a driver may be.
type Target string

// The targets: Volta with PTX 6.3, which drivers of CUDA 10.0 take; Ampere, the first with
// TF32 and bfloat16, with PTX 7.0, which those of CUDA 11.0 take; and Hopper, whose
// instructions for a warpgroup later devices lack, with PTX 8.0, which those of CUDA 12.0 take.
const (
	SM70  Target = "sm_70"
	SM80  Target = "sm_80"
	SM90a Target = "sm_90a"
)

var versions = map[Target]string{SM70: "+ptx63", SM80: "+ptx70", SM90a: "+ptx80"}

// ErrNoCompiler says that the compiler is not installed.
var ErrNoCompiler = errors.New(Compiler + " is not installed (Debian's package " + Compiler + ")")

// Output is the name of the file that Compile writes: gemm.cu for sm_70 becomes gemm_sm70.ptx.
func Output(source string, target Target) string {
	base := strings.TrimSuffix(filepath.Base(source), ".cu")
	return base + "_" + strings.ReplaceAll(string(target), "_", "") + ".ptx"
}

// Compile makes PTX of a source, which includes compat.h by its name, into the folder.
func Compile(source string, target Target, folder string) error {
	version, ok := versions[target]
	if !ok {
		return fmt.Errorf("compile %s: there is no target %q", source, target)
	}
	compiler, err := exec.LookPath(Compiler)
	if err != nil {
		return ErrNoCompiler
	}
	header, err := filepath.Abs(filepath.Join(filepath.Dir(source), "..", "cuda"))
	if err != nil {
		return err
	}
	// The compiler runs where the source is, so that no path gets into the text.
	output, err := filepath.Abs(filepath.Join(folder, Output(source, target)))
	if err != nil {
		return err
	}
	cmd := exec.Command(compiler, "-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-device-only", "-std=c++17",
		"-fms-extensions",
		"-O3", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror", "--cuda-gpu-arch="+string(target),
		"-Xclang", "-target-feature", "-Xclang", version, "-I", header, "-S", filepath.Base(source), "-o", output)
	cmd.Dir = filepath.Dir(source)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile %s for %s: %w", source, target, err)
	}
	return nil
}
