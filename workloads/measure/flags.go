package measure

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// UsageError is the error for an invalid command line; programs exit with status 2.
type UsageError struct{ Message string }

// Error is the message.
func (e *UsageError) Error() string { return e.Message }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// Options are the flags that every workload has.
type Options struct {
	Device DeviceKind
	// GPUs is how many of the visible GPUs compute; 0 is all of them.
	GPUs int
	// Binding names the binding to the CUDA driver; empty means the first that works.
	Binding string
	Kernel  string
	Threads int
	Repeats int
	// Warmup runs come first and are not counted.
	Warmup int
	Seed   uint64
	Format Format
}

// NewFlags returns a flag set that reports errors only through Parse.
func NewFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return flags
}

// Register adds the common flags. The first of kernels is the default.
func (o *Options) Register(flags *flag.FlagSet, kernels []string) {
	*o = Options{Device: CPU, Kernel: kernels[0], Threads: runtime.GOMAXPROCS(0), Repeats: 3, Warmup: 1, Seed: 1,
		Format: Text}
	OneOf(flags, &o.Device, "device", "`KIND` device to compute on", DeviceKinds()...)
	Int(flags, &o.GPUs, "gpus", "`N` number of GPUs for --device cuda; 0 uses all visible ones", 0, 64)
	flags.StringVar(&o.Binding, "binding", "", "`NAME` binding to the CUDA driver (default: the first that works)")
	OneOf(flags, &o.Kernel, "kernel", "`NAME` kernel to use", kernels...)
	Int(flags, &o.Threads, "threads", "`N` number of computing goroutines", 1, 4096)
	Int(flags, &o.Repeats, "repeats", "`N` timed runs of each row; the median is printed", 1, 10000)
	Int(flags, &o.Warmup, "warmup", "`N` runs before the timed ones", 0, 10000)
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "`N` seed of the random numbers")
	OneOf(flags, &o.Format, "format", "`FORMAT` output, json is one object per line", Formats()...)
}

// Parse reads the command line. It returns flag.ErrHelp for --help, and a UsageError for an
// invalid command line. No workload takes operands, so any operand is an error.
func Parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return Usagef("%s", explain(flags, err))
	}
	if flags.NArg() > 0 {
		return Usagef("unexpected argument %q: %s takes only flags, and a list has no spaces (--sizes 1000,2000)",
			flags.Arg(0), flags.Name())
	}
	return nil
}

// explain rewrites the flag package's message: with two dashes, and with the similar or allowed
// names.
func explain(flags *flag.FlagSet, err error) string {
	message := err.Error()
	if name, found := strings.CutPrefix(message, "flag provided but not defined: -"); found {
		return unknown("flag", "--"+strings.TrimLeft(name, "-"), names(flags))
	}
	for _, cut := range []string{"for flag -", "an argument: -"} {
		message = strings.Replace(message, cut, cut+"-", 1)
	}
	return message
}

func names(flags *flag.FlagSet) []string {
	var all []string
	flags.VisitAll(func(f *flag.Flag) { all = append(all, "--"+f.Name) })
	return all
}

// IsSet reports whether the command line set the flag.
func IsSet(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// WriteFlags prints one line for each flag with its default. A usage text that
// begins with the quoted placeholder continues after it.
func WriteFlags(w io.Writer, flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		usage = strings.TrimPrefix(usage, value+" ")
		if f.DefValue != "" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%-26s %s\n", f.Name+" "+value, usage)
	})
}

// WriteHelp prints a help text: the flags between what comes before and after them.
func WriteHelp(w io.Writer, before string, flags *flag.FlagSet, after string) error {
	fmt.Fprint(w, before)
	WriteFlags(w, flags)
	_, err := fmt.Fprint(w, after)
	return err
}

// Unknown returns the UsageError for a name that is not allowed. It suggests the most similar one.
func Unknown(what, name string, allowed []string) error {
	return Usagef("%s", unknown(what, name, allowed))
}

func unknown(what, name string, allowed []string) string {
	list := slices.Sorted(slices.Values(allowed))
	message := fmt.Sprintf("unknown %s %s", what, name)
	if near := Near(name, list); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return message + " (allowed: " + strings.Join(list, ", ") + ")"
}
