package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// PlainIntegers rewrites JSON so that the SDK can read it into integers: 1.0 and 1e0 become 1.
// AWS writes the plain form; servers that imitate AWS also write the others, which the SDK
// rejects. With truncate, 1.5 becomes 1 too, such as a time with a fraction of a millisecond:
// that is for answers of Batch and CloudWatch Logs, whose numbers are integers except for those
// of isFractional. Strings and the rest of the text stay the same. Without truncate, every
// number keeps its value.
func PlainIntegers(text []byte, truncate bool) []byte {
	var out []byte
	done := 0 // text[:done] is in out already
	var last, key []byte
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '"':
			end = stringEnd(text, i)
			last = text[i:end]
		case c == ':':
			key = last
		case c == ',' || c == '{' || c == '[' || c == '}' || c == ']':
			key = nil
		case c == '-' || c >= '0' && c <= '9':
			for end < len(text) && isNumeric(text[end]) {
				end++
			}
			number, ok := plainInteger(text[i:end], truncate && !isFractional(string(bytes.Trim(key, `"`))))
			if ok {
				out = append(append(out, text[done:i]...), number...)
				done = end
			}
		}
		i = end
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// isFractional reports whether a member of an answer of Batch can have a fraction. A quantity has
// one as a used capacity, and none as an amount of a consumable resource.
func isFractional(member string) bool { return member == "quantity" || member == "weightFactor" }

// stringEnd returns the index after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isNumeric reports whether a byte can be part of a number.
func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

const (
	// maxDigits is the number of digits of the largest int64.
	maxDigits = 19
	// maxExponent bounds the zeros that an exponent can add.
	maxExponent = 400
)

// plainInteger returns a number without its fraction and exponent. ok is false for a number that
// has neither, that does not fit into an int64, or that would lose more than zeros. With cut it
// may lose the fraction.
func plainInteger(number []byte, cut bool) (string, bool) {
	text := string(number)
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return "", false
		}
		mantissa, exponent = text[:i], n
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if sign+whole == text || whole == "" || !isDigits(whole+fraction) {
		return "", false
	}
	digits := whole + fraction
	point := len(whole) + exponent
	switch {
	case point <= 0:
		digits, fraction = "", digits
	case point < len(digits):
		digits, fraction = digits[:point], digits[point:]
	default:
		digits, fraction = digits+strings.Repeat("0", point-len(digits)), ""
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > maxDigits || !cut && strings.Trim(fraction, "0") != "" {
		return "", false
	}
	if digits == "" {
		digits = "0"
	}
	return sign + digits, true
}

// isDigits reports whether a text has only digits; true for an empty text.
func isDigits(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
