package term

import (
	"slices"
	"strings"
	"testing"
)

func TestDecodeKeys(t *testing.T) {
	for in, want := range map[string][]Key{
		"q":                               {'q'},
		"\x03":                            {KeyInterrupt},
		"\x1b":                            {KeyEscape},
		"\x1b[A\x1bOBx":                   {KeyUp, KeyDown, 'x'},
		"\x1b[5~\x1b[6~":                  {KeyPageUp, KeyPageDown},
		"\x1b[1~\x1b[4~\x1bOH":            {KeyHome, KeyEnd, KeyHome},
		"\x1b[1;5C\x1b[200~é名":            {keyUnknown, keyUnknown, 'é', '名'},
		"\xffa":                           {keyUnknown, 'a'},
		"\x1b[" + strings.Repeat("1", 40): {keyUnknown},
	} {
		got, rest := DecodeKeys([]byte(in))
		if !slices.Equal(got, want) || len(rest) > 0 {
			t.Errorf("%q: %v and %q", in, got, rest)
		}
	}
	for _, part := range []string{"\x1b[", "\x1b[6", "\xe5\x90"} {
		if got, rest := DecodeKeys([]byte(part)); len(got) > 0 || string(rest) != part {
			t.Errorf("%q is %v already, and %q is to come", part, got, rest)
		}
	}
}

// However a terminal cuts what it sends, outside a sequence, the same keys come.
func FuzzDecodeKeys(f *testing.F) {
	for _, s := range []string{"q", "\x1b[A\x1bOB", "\x1b", "\x1b[1;5C", "名\xff", "\x1b[6"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		keys, rest := DecodeKeys(sent)
		if len(keys)+len(rest) > len(sent) || len(rest) >= longestSequence {
			t.Fatalf("%q: %v and %q", sent, keys, rest)
		}
	})
}
