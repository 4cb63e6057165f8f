package secret_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
)

// hostile returns texts of that size that are slow to search if a part of a text is read
// again for each name, quote, bracket or mark in it.
func hostile(size int) map[string]string {
	texts := map[string]string{}
	for name, unit := range map[string]string{
		"keys without an end": `-----BEGIN PRIVATE KEY-----\n`, "names in one line": "a: b token = c ", "flags": "-p x --password ",
		"quotes": `"'`, "quotes in quotes": `{"a":"{\"b\":\"{`, "brackets": `[{"name":`, "headers": "token:", "logins": "https://a:b",
		"marks": "sk-ghp_eyJ", "escapes": `\u0041`, "spaces": "token   ", "machines": "machine a login b ", "base64": "QUJD",
		"keys": "-----BEGIN ", "closed keys": `-----BEGIN PRIVATE KEY-----"`, "one letter": "A", "Azure": "JQQJ99", "New Relic": "NRAL", "client secrets": "0Q~",
		"Mailchimp": "-us1", "MaxMind": "_mmk", "X": "AAAA ", "JWT": "-eyJ", "dots": "M.abcdef", "dashes": "aB3456789-", "passwords": "password=", "long passwords": "password=aaaaaaaaaaaaaaaaaaaaaaaa ",
		"shell": `token="`, "queries": "?token=", "names": "a: ", "assignments": "token= ", "quoted names": `"token":`,
	} {
		texts[name] = strings.Repeat(unit, size/len(unit))
		texts[name+" in JSON"] = `{"a":"` + texts[name]
	}
	half := strings.Repeat(" ", size/2)
	texts["blanks at the end"] = strings.Repeat("a: b c d ", size/18) + half
	texts["one long word"] = strings.Repeat("a:", size/2) + " x y"
	texts["names before blanks"] = strings.Repeat("token ", size/12) + half + ":"
	return texts
}

// TestMaskHostile checks that the search is linear; otherwise it takes minutes.
func TestMaskHostile(t *testing.T) {
	all := secrettest.New(rand.Uint64()).All()
	token := all[slices.IndexFunc(all, func(c secrettest.Credential) bool { return c.Vendor == "GitHub" })].Value
	for name, text := range hostile(1 << 18) {
		if out := secret.Mask("", text+"\n"+token+"\n"); strings.Contains(out, token) {
			t.Errorf("%s: the token after it is shown", name)
		}
	}
}

// TestMaskAllocates checks that masking a text that is four times as long allocates about four times as much: no span
// and no word of it is kept for each other one.
func TestMaskAllocates(t *testing.T) {
	const size = 1 << 14
	small, large := hostile(size), hostile(4*size)
	bytesOf := func(text string) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		secret.Mask("X_TOKEN", text)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	for name, text := range small {
		bytesOf(text) // compile what is compiled once
		one, four := bytesOf(text), bytesOf(large[name])
		if four > 6*one+1<<20 {
			t.Errorf("%s: %.0f bytes for %d, %.0f bytes for %d", name, one, len(text), four, len(large[name]))
		}
	}
}

// BenchmarkMaskHostile measures Mask for texts of a megabyte.
func BenchmarkMaskHostile(b *testing.B) {
	for name, text := range hostile(1 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secret.Mask("", text)
			}
		})
	}
}
