package document

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

func newText(s string) *jsontree.Node { return jsontree.NewString(s, nil) }

func TestMebibytes(t *testing.T) {
	for in, want := range map[string]int64{
		"30 GiB": 30720, "30GiB": 30720, "2048 MiB": 2048, "2048": 2048, " 1 TiB ": 1 << 20,
		"0.5 GiB": 512, "1.5  GiB": 1536, ".25 GiB": 256, "0": 0,
	} {
		if got, err := mebibytes(newText(in)); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for in, hint := range map[string]string{
		"30 GB":    `write "30 GiB": AWS Batch counts in powers of two`,
		"30G":      `write "30 GiB": AWS Batch counts in powers of two`,
		"30 gib":   `write "30 GiB": AWS Batch counts in powers of two`,
		"512 MB":   `write "512 MiB": AWS Batch counts in powers of two`,
		"512Mi":    `write "512 MiB": AWS Batch counts in powers of two`,
		"1.5 tb":   `write "1.5 TiB": AWS Batch counts in powers of two`,
		"0.3 GiB":  `write "308 MiB"`,
		"10 KiB":   `write a number with GiB or MiB, such as "30 GiB"`,
		"-1 GiB":   `write a number with GiB or MiB, such as "30 GiB"`,
		"":         `write a number with GiB or MiB, such as "30 GiB"`,
		"1e3 GiB":  `write a number with GiB or MiB, such as "30 GiB"`,
		"9999 TiB": `write a number with GiB or MiB, such as "30 GiB"`,
	} {
		if got, err := mebibytes(newText(in)); err == nil || hintOf(err) != hint {
			t.Errorf("%q: %d, hint %q, want %q", in, got, hintOf(err), hint)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[string]int64{
		"2h": 7200, "90m": 5400, "1h30m": 5400, "1d": 86400, "45s": 45, "1d2h3m4s": 93784, " 5m ": 300, "0s": 0,
		"2147483647s": 2147483647,
	} {
		if got, err := seconds(newText(in)); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "2", "2 h", "2H", "h", "30m1h", "1.5h", "-1h", "2hours", "2147483648s", "99999999999999999999d", "1w"} {
		if got, err := seconds(newText(in)); err == nil || hintOf(err) == "" {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]string{"8": "8", "8.0": "8", "0.25": "0.25", "2e1": "20", ".5": "0.5", "-0": "0"} {
		if got, err := count(newText(in)); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "two", "-1", "NaN", "Inf", "1e300", "1e999", "Ref::cpus"} {
		if got, err := count(newText(in)); err == nil || hintOf(err) == "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// TestSizesAgree checks that a size has the same value in every spelling.
func TestSizesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gib := rapid.Int64Range(0, 1<<20).Draw(t, "GiB")
		for _, n := range []*jsontree.Node{
			newText(fmt.Sprintf("%d GiB", gib)), newText(fmt.Sprintf("%d MiB", gib<<10)),
			newText(fmt.Sprint(gib << 10)), jsontree.NewInt(gib<<10, nil),
		} {
			if got, err := mebibytes(n); err != nil || got != gib<<10 {
				t.Fatalf("%s: %d, %v; want %d", n.Text, got, err, gib<<10)
			}
		}
	})
}

// TestDurationsAgree checks the same for durations.
func TestDurationsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, h := rapid.Int64Range(0, 99).Draw(t, "d"), rapid.Int64Range(0, 99).Draw(t, "h")
		m, s := rapid.Int64Range(0, 99).Draw(t, "m"), rapid.Int64Range(0, 99).Draw(t, "s")
		want := ((d*24+h)*60+m)*60 + s
		for _, in := range []string{fmt.Sprintf("%dd%dh%dm%ds", d, h, m, s), fmt.Sprintf("%ds", want)} {
			if got, err := seconds(newText(in)); err != nil || got != want {
				t.Fatalf("%s: %d, %v; want %d", in, got, err, want)
			}
		}
	})
}

// TestReceivers checks which ARNs name a topic, and that no other text of a receiver is shown.
func TestReceivers(t *testing.T) {
	const prefix = "arn:aws:sns:us-east-1:123456789012:"
	for name, ok := range map[string]bool{"jobs": true, "A_b-9": true, "jobs.fifo": true, strings.Repeat("x", 256): true,
		"": false, ".fifo": false, "jobs.fif": false, "a b": false, "jürg": false, "a:b": false, "jobs*": false, strings.Repeat("x", 257): false} {
		if why, hint := CheckReceiver(prefix + name); (why == "") != ok || (hint == "") != ok {
			t.Errorf("%q: %q, %q", name, why, hint)
		}
	}
}
