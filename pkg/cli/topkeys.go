package cli

import (
	"io"
	"slices"
	"unicode/utf8"
)

// key is what a person pressed: a character, or one of the constants.
type key rune

const (
	keyNone key = -iota - 1
	keyUp
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyUnknown
)

const (
	keyInterrupt key = 0x03 // Ctrl-C
	keyBackspace key = 0x7f
	keyErase     key = 0x08 // what some terminals send for backspace
	keyEnter     key = '\r'
	keyEscape    key = 0x1b
)

// decodeKeys reads the keys that a terminal sent. What may be the beginning of a
// key comes back as rest, to be read again with what follows. An escape at the end
// is the key itself: terminals send their sequences in one piece.
func decodeKeys(sent []byte) (keys []key, rest []byte) {
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
func decodeKey(sent []byte) (key, int) {
	if len(sent) > 1 && sent[0] == 0x1b && (sent[1] == '[' || sent[1] == 'O') {
		return decodeSequence(sent)
	}
	r, size := utf8.DecodeRune(sent)
	if r == utf8.RuneError && size == 1 {
		return keyUnknown, 1
	}
	return key(r), size
}

// longestSequence is more bytes than any key sends.
const longestSequence = 32

// decodeSequence reads ESC [ parameters final, or ESC O final.
func decodeSequence(sent []byte) (key, int) {
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
func sequenceKey(sequence string) key {
	switch sequence {
	case "A":
		return keyUp
	case "B":
		return keyDown
	case "H", "1~", "7~":
		return keyHome
	case "F", "4~", "8~":
		return keyEnd
	case "5~":
		return keyPageUp
	case "6~":
		return keyPageDown
	}
	return keyUnknown
}

// readKeys sends what is pressed until the terminal is gone; then it closes out.
func readKeys(in io.Reader, out chan<- []key) {
	defer close(out)
	var rest []byte
	for buf := make([]byte, 256); ; {
		n, err := in.Read(buf)
		var keys []key
		keys, rest = decodeKeys(append(rest, buf[:n]...))
		if len(keys) > 0 {
			out <- keys
		}
		if err != nil {
			return
		}
	}
}
