package fakecuda

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

const compiler = "g++"

// sanitizers are for the kernels; the driver around them is always the same.
var sanitizers = []string{"-g", "-fno-omit-frame-pointer", "-fsanitize=address,bounds,alignment",
	"-fno-sanitize-recover=all"}

// libraries are made of the parts of src, and libcuda.so.1 of the rooms as well.
var libraries = map[string][]string{
	"libcuda.so.1":      {"block", "device", "devices", "driver", "fiber", "memory", "modules", "ptx", "streams"},
	"libcublas.so.12":   {"cublas"},
	"libnvidia-ml.so.1": {"nvml"},
}

// toolchain compiles what lies in the folder workloads/gpu.
type toolchain struct {
	gpu   string
	flags []string
	// identity is another for every compiler, processor and list of flags.
	identity string
}

func newToolchain(gpu string) (*toolchain, error) {
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return nil, err
	}
	flags := []string{
		"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unknown-pragmas",
		"-DBATCHCTL_HOST",
		"-fno-strict-aliasing", // kernels load vectors from arrays of their elements
	}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-march=native") // for its multiply-add
	}
	return &toolchain{gpu, flags, fmt.Sprintf("%s%s%q", version, processor(), flags)}, nil
}

// processor is what the processor can do, as Linux tells it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "flags") {
			return line
		}
	}
	return ""
}

// makeLibraries makes the libraries with the kernels of the rooms beside this one and of
// those named, or finds them in the cache. The flags are for the kernels.
func makeLibraries(gpu string, flags, rooms []string) (string, error) {
	c, err := newToolchain(gpu)
	if err != nil {
		return "", err
	}
	parts, err := c.makeParts()
	if err != nil {
		return "", err
	}
	lists, err := filepath.Glob(filepath.Join(gpu, "*", "kernels.h"))
	if err != nil {
		return "", err
	}
	for _, list := range lists {
		rooms = append(rooms, filepath.Dir(list))
	}
	key, err := digest(fmt.Sprintf("%s %q", filepath.Base(parts), flags), append(rooms, filepath.Join(gpu, "cuda")))
	if err != nil {
		return "", err
	}
	return once("fakecuda-"+key, func(folder string) error { return c.link(folder, parts, flags, rooms) })
}

// makeParts compiles what does not depend on the kernels.
func (c *toolchain) makeParts() (string, error) {
	here := filepath.Join(c.gpu, "fakecuda")
	key, err := digest(c.identity, []string{here, filepath.Join(here, "src")})
	if err != nil {
		return "", err
	}
	return once("fakecuda-parts-"+key, func(folder string) error {
		var jobs [][]string
		for _, parts := range libraries {
			for _, part := range parts {
				jobs = append(jobs, []string{"-c", filepath.Join(here, "src", part+".cpp"), "-o",
					filepath.Join(folder, part+".o")})
			}
		}
		return c.runAll(jobs)
	})
}

// link compiles the kernels and makes the libraries of them and the parts.
func (c *toolchain) link(folder, parts string, flags, rooms []string) error {
	work, err := os.MkdirTemp("", "fakecuda")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var jobs [][]string
	var objects []string
	for _, room := range rooms {
		object := filepath.Join(work, filepath.Base(room)+".o")
		objects = append(objects, object)
		jobs = append(jobs, append(c.compileRoom(room, object), flags...))
	}
	if err := c.runAll(jobs); err != nil {
		return err
	}
	driver := filepath.Join(folder, "libcuda.so.1")
	if err := c.run(slices.Concat(shared(driver, parts), objects, flags)...); err != nil {
		return err
	}
	// The other two find the driver in their own folder.
	for _, name := range []string{"libcublas.so.12", "libnvidia-ml.so.1"} {
		if err := c.run(append(shared(filepath.Join(folder, name), parts), driver,
			"-Wl,-rpath,$ORIGIN")...); err != nil {
			return err
		}
	}
	return nil
}

// compileRoom is the compiler's arguments for the kernels of a folder.
func (c *toolchain) compileRoom(room, object string) []string {
	prefix := strings.ToUpper(filepath.Base(room))
	arguments := []string{"-DROOM_KERNELS=" + prefix + "_KERNELS", "-DROOM_VARIABLES=" + prefix + "_VARIABLES"}
	kernels, _ := filepath.Glob(filepath.Join(room, "*.cu")) // fails only for a bad pattern
	for _, file := range append(kernels, filepath.Join(room, "kernels.h")) {
		arguments = append(arguments, "-include", file)
	}
	return append(arguments, "-c", filepath.Join(c.gpu, "fakecuda", "src", "room.cpp"), "-o", object)
}

// shared is the compiler's arguments for a library of its parts.
func shared(output, parts string) []string {
	name := filepath.Base(output)
	arguments := []string{"-shared", "-pthread", "-Wl,-Bsymbolic", "-Wl,-soname," + name, "-o", output}
	for _, part := range libraries[name] {
		arguments = append(arguments, filepath.Join(parts, part+".o"))
	}
	return arguments
}

// runAll runs the compiler for each list of arguments, on all processors.
func (c *toolchain) runAll(jobs [][]string) error {
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, runtime.NumCPU())
	var group sync.WaitGroup
	for i, arguments := range jobs {
		group.Go(func() {
			slots <- struct{}{}
			errs[i] = c.run(arguments...)
			<-slots
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (c *toolchain) run(arguments ...string) error {
	arguments = slices.Concat(c.flags, []string{"-I" + filepath.Join(c.gpu, "cuda"),
		"-I" + filepath.Join(c.gpu, "fakecuda")}, arguments)
	var output bytes.Buffer
	cmd := exec.Command(compiler, arguments...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(arguments, " "), err, &output)
	}
	return nil
}

// digest is that of a text and of all C++ in the folders.
func digest(text string, folders []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", text)
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if !slices.Contains([]string{".h", ".cu", ".cuh", ".cpp"}, filepath.Ext(file.Name())) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(folder, file.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%s/%s %d\n%s", filepath.Base(folder), file.Name(), len(data), data)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:12]), nil
}
