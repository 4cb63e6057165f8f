package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxMessage bounds one message. The parser accepts texts up to 16 MiB; escapes in a
// message make them longer.
const maxMessage = 128 << 20

// frameError reports an unreadable message. The messages after it can be read.
type frameError struct{ message string }

func (e *frameError) Error() string { return e.message }

// readFrame reads one message: header lines, an empty line, and Content-Length bytes.
// After a frameError, r is where the next message may begin. Any other error is final:
// io.EOF between messages, io.ErrUnexpectedEOF inside a message.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return nil, endInside(err)
		}
		return nil, &frameError{fmt.Sprintf("a message of %d bytes, more than the limit of %d", length, maxMessage)}
	}
	// The buffer grows with the received bytes, since the header may be wrong.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, length); err != nil {
		return nil, endInside(err)
	}
	return body.Bytes(), nil
}

// readHeader reads up to the blank line and returns the Content-Length.
func readHeader(r *bufio.Reader) (int64, error) {
	length, lines := int64(-1), 0
	for {
		line, err := readLine(r)
		if err != nil {
			if err == io.EOF && lines > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if line == "" {
			if length >= 0 {
				return length, nil
			}
			if lines > 0 {
				return 0, &frameError{"a message without a Content-Length"}
			}
			continue // blank lines between messages do no harm
		}
		lines++
		if n, ok := contentLength(line); ok {
			length = n
		}
	}
}

// contentLength finds the length in a header line. It searches the whole line: after a message
// that could not be read, the next header may follow its last bytes.
func contentLength(line string) (int64, bool) {
	const name = "Content-Length"
	i := strings.LastIndexByte(line, ':')
	if i < len(name) || !strings.EqualFold(line[i-len(name):i], name) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(line[i+1:]), 10, 64)
	return n, err == nil && n >= 0
}

// readLine returns the next line without its end. Of a line that is too long for a header,
// it returns only the last part.
func readLine(r *bufio.Reader) (string, error) {
	const longest = 128
	kept := ""
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			kept = string(line[len(line)-longest:])
			continue
		case err == io.EOF && len(kept)+len(line) > 0:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		}
		return strings.TrimRight(kept+string(line), "\r\n"), nil
	}
}

// endInside returns the error for an end of the stream inside a message.
func endInside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFrame writes a message with its header, in one piece.
func writeFrame(w io.Writer, body []byte) error {
	frame := fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body))
	_, err := w.Write(append(frame, body...))
	return err
}
