package term

import (
	"io"
	"slices"
	"unicode/utf8"
)

// Key is what a person pressed: a character, or one of the constants.
type Key rune

const (
	keyNone Key = -iota - 1
	KeyUp
	KeyDown
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd
	keyUnknown
)

const (
	KeyInterrupt Key = 0x03 // Ctrl-C
	KeyBackspace Key = 0x7f
	KeyErase     Key = 0x08 // what some terminals send for backspace
	KeyEnter     Key = '\r'
	KeyEscape    Key = 0x1b
)

// DecodeKeys reads the keys that a terminal sent. What may be the beginning of a
// key comes back as rest, to be read again with what follows. An escape at the end
// is the key itself: terminals send their sequences in one piece.
func DecodeKeys(sent []byte) (keys []Key, rest []byte) {
	for len(sent) > 0 {
		if !utf8.FullRune(sent) {
			return keys, sent
		}
		k, size := decodeKey(sent)
		if k == keyNone {
			return keys, sent
		}
		keys, sent = append(keys, k), sent[size:]
	}
	return keys, nil
}

// decodeKey reads one key; keyNone when it is not complete.
func decodeKey(sent []byte) (Key, int) {
	if len(sent) > 1 && sent[0] == 0x1b && (sent[1] == '[' || sent[1] == 'O') {
		return decodeSequence(sent)
	}
	r, size := utf8.DecodeRune(sent)
	if r == utf8.RuneError && size == 1 {
		return keyUnknown, 1
	}
	return Key(r), size
}

// longestSequence is more bytes than any key sends.
const longestSequence = 32

// decodeSequence reads ESC [ parameters final, or ESC O final.
func decodeSequence(sent []byte) (Key, int) {
	end := slices.IndexFunc(sent[2:], func(c byte) bool { return c >= 0x40 && c <= 0x7e })
	switch {
	case end < 0 && len(sent) < longestSequence:
		return keyNone, 0
	case end < 0:
		return keyUnknown, len(sent)
	}
	size := 2 + end + 1
	return sequenceKey(string(sent[2:size])), size
}

// sequenceKey knows the sequences of xterm, the Linux console, rxvt and tmux, by
// what follows ESC [ or ESC O.
func sequenceKey(sequence string) Key {
	switch sequence {
	case "A":
		return KeyUp
	case "B":
		return KeyDown
	case "H", "1~", "7~":
		return KeyHome
	case "F", "4~", "8~":
		return KeyEnd
	case "5~":
		return KeyPageUp
	case "6~":
		return KeyPageDown
	}
	return keyUnknown
}

// ReadKeys sends what is pressed until the terminal is gone; then it closes out.
func ReadKeys(in io.Reader, out chan<- []Key) {
	defer close(out)
	var rest []byte
	for buf := make([]byte, 256); ; {
		n, err := in.Read(buf)
		var keys []Key
		keys, rest = DecodeKeys(append(rest, buf[:n]...))
		if len(keys) > 0 {
			out <- keys
		}
		if err != nil {
			return
		}
	}
}
