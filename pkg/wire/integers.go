package wire

// PlainIntegers writes numbers such as 1.0 as 1 in a JSON text and leaves all else
// as it is. They are the same number; AWS writes the second, servers that stand
// for it write the first too, and the SDK does not read that into an integer. The
// text may be changed in place.
func PlainIntegers(text []byte) []byte {
	out := text[:0]
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			out = append(out, text[i:end]...)
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && isNumeric(text[end]) {
				end++
			}
			out = append(out, whole(text[i:end])...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// stringEnd is the place behind the string that begins at i.
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

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// whole cuts a fraction of zeros off a number; one with an exponent stays.
func whole(number []byte) []byte {
	end := len(number)
	for end > 0 && number[end-1] == '0' {
		end--
	}
	if end > 1 && end < len(number) && number[end-1] == '.' && isInteger(number[:end-1]) {
		return number[:end-1]
	}
	return number
}

func isInteger(number []byte) bool {
	for _, c := range number {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
