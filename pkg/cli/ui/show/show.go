package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/text"
)

// Text returns a text as pages show it: without credentials, and without characters that change the direction or the
// place of the text around them.
func Text(text string) string { return diag.Printable(secret.Mask("", text)) }

// Value returns the value of a variable or tag as pages show it. Some credentials are only known by their name.
func Value(name, value string) string { return diag.Printable(secret.Mask(name, value)) }

// Lines returns a text of several lines as pages show it. A credential can have several lines.
func Lines(text string) string {
	return diag.PrintableLines(secret.Mask("", strings.TrimRight(text, "\n")))
}

// Plain returns a page without characters that change the direction or the place of the text around them. Most texts
// went through Text, which does the same; this is for those of which a template expects an id or a status.
func Plain(page []byte) []byte {
	isPlain := func(r rune) bool {
		return r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	if bytes.IndexFunc(page, func(r rune) bool { return !isPlain(r) }) < 0 {
		return page
	}
	var b bytes.Buffer
	for _, r := range string(page) { // bytes that are no UTF-8 become U+FFFD
		if isPlain(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// PlainJSON returns JSON whose strings can be shown.
func PlainJSON(text []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(plainStrings(v))
}

// plainStrings returns a decoded value with strings that can be shown.
func plainStrings(v any) any {
	switch v := v.(type) {
	case string:
		return string(Plain([]byte(v)))
	case []any:
		for i := range v {
			v[i] = plainStrings(v[i])
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[string(Plain([]byte(name)))] = plainStrings(member)
		}
		return all
	}
	return v
}

// Join joins the texts that are not empty.
func Join(separator string, texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, separator)
}

// Indented indents JSON.
func Indented(text []byte) (string, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", "  ")
	return b.String(), err
}

// marks are the signs of the statuses, because colour alone does not tell them.
var marks = map[string]string{
	string(types.JobStatusSubmitted): "·", string(types.JobStatusPending): "◦", string(types.JobStatusRunnable): "○",
	string(types.JobStatusStarting): "◐",
	string(types.JobStatusRunning):  "●", string(types.JobStatusSucceeded): "✓", string(types.JobStatusFailed): "✕",
}

// Mark returns the sign of a status.
func Mark(status string) string {
	if m := marks[status]; m != "" {
		return m
	}
	return "?"
}

// Number formats a quantity.
func Number(v any) string {
	switch n := v.(type) {
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case *int32:
		if n == nil {
			return "–"
		}
		return strconv.Itoa(int(*n))
	}
	return fmt.Sprint(v)
}

// Seconds formats a duration in seconds. A time.Duration has only 292 years.
func Seconds(s float64) string {
	if days := s / (24 * 60 * 60); math.Abs(days) > 1000 {
		return fmt.Sprintf("%.0f days", days)
	}
	return text.Duration(time.Duration(s * float64(time.Second)))
}

// Clock formats a time of the API, in the local time zone.
func Clock(v any) string {
	var ms int64
	switch n := v.(type) {
	case int64:
		ms = n
	case *int64:
		ms = aws.ToInt64(n)
	}
	if ms == 0 {
		return "–"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

// Took formats the time between two times of the API, or until now.
func Took(from, to *int64) string {
	if aws.ToInt64(from) == 0 {
		return "–"
	}
	return term.Took(from, to, time.Now())
}
