package measure

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type settings struct {
	Options Options
	Sizes   []int
	Sigma   float64
}

func parseAll(args ...string) (settings, error) {
	var s settings
	flags := NewFlags("matrix")
	s.Options.Register(flags, []string{"gonum", "avx2"})
	Ints(flags, &s.Sizes, "sizes", "`LIST` square sizes", 1, 5000)
	Float(flags, &s.Sigma, "sigma", "`N` deviation", 0.1, 20)
	return s, Parse(flags, args)
}

func TestParse(t *testing.T) {
	got, err := parseAll("--sizes", "10, 20,30", "-repeats=7", "--kernel", "avx2", "--sigma", "2.5",
		"--warmup", "0", "--seed", "9", "--format=json", "--threads", "3", "--device", "cuda", "--gpus", "2", "--binding", "libcuda")
	if err != nil {
		t.Fatal(err)
	}
	want := settings{Options{CUDA, 2, "libcuda", "avx2", 3, 7, 0, 9, JSON}, []int{10, 20, 30}, 2.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--size 3", "unknown flag --size; did you mean --sizes? (allowed: "},
		{"--zzz", "unknown flag --zzz (allowed: --binding, --device, "},
		{"--sizes", "flag needs an argument: --sizes"},
		{"--sizes 1,x", `invalid value "1,x" for flag --sizes: want a whole number from 1 to 5000`},
		{"--sizes 5001", "want a whole number from 1 to 5000"},
		{"--sizes 0", "want a whole number from 1 to 5000"},
		{"--sizes 99999999999999999999", "want a whole number from 1 to 5000"},
		{"--sizes 1, 2", "an element is empty"},
		{"--sizes 1 2", `unexpected argument "2": matrix takes only flags`},
		{"--sigma NaN", "want a number from 0.1 to 20"},
		{"--sigma wide", "want a number from 0.1 to 20"},
		{"--format jsn", "unknown format jsn (allowed: json, text)"},
		{"--kernel gonun", "unknown kernel gonun; did you mean gonum?"},
		{"--device gpu", "unknown device gpu (allowed: cpu, cuda)"},
	} {
		_, err := parseAll(strings.Fields(test.args)...)
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.Message, test.want) {
			t.Errorf("%s: got %v, want a usage error with %q", test.args, err, test.want)
		}
	}
}

func TestParseHelp(t *testing.T) {
	if _, err := parseAll("--help"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}

func TestIsSet(t *testing.T) {
	flags := NewFlags("x")
	n := 5
	Int(flags, &n, "n", "`N` count", 1, 9)
	if err := Parse(flags, nil); err != nil || IsSet(flags, "n") {
		t.Errorf("set without being named: %v", err)
	}
	if err := Parse(flags, []string{"--n", "5"}); err != nil || !IsSet(flags, "n") {
		t.Errorf("not set although named: %v", err)
	}
}

func TestWriteFlags(t *testing.T) {
	flags := NewFlags("x")
	sizes, name := []int{1, 2}, ""
	Ints(flags, &sizes, "sizes", "`LIST` square sizes", 1, 9)
	flags.StringVar(&name, "output", "", "`FOLDER` for results")
	var out bytes.Buffer
	WriteFlags(&out, flags)
	want := "  --output FOLDER              for results\n" +
		"  --sizes LIST                 square sizes (default 1,2)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNear(t *testing.T) {
	for _, test := range []struct{ word, want string }{
		{"matrx", "matrix"}, {"imagee", "image"}, {"matrix", "matrix"}, {"cat", ""}, {"", ""}, {"MATRIX", ""},
	} {
		if got := Near(test.word, []string{"image", "matrix"}); got != test.want {
			t.Errorf("Near(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"ab", "ba", 2}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
