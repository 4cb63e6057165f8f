package call

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	// noticeHeader, on an answer, lists the parts of the request that have no effect here,
	// percent-encoded.
	noticeHeader = "X-Batchctl-Notice"

	// maxNotice limits the characters of a notice: clients limit a header's length (Python's
	// http.client: 64 KiB), and each character may take 12 bytes when it is percent-encoded as
	// UTF-8.
	maxNotice = 4000
)

// Notice returns the notice in an answer of the engine: the parts of the request that have no
// effect here. It is empty for other answers.
func Notice(h http.Header) string {
	text, err := url.PathUnescape(h.Get(noticeHeader))
	if err != nil {
		return ""
	}
	return text
}

// Remark adds a reason and the members that it applies to to the answer's notice. A long notice
// is cut at maxNotice characters.
func (c *Call) Remark(why string, members []string) {
	if len(members) == 0 {
		return
	}
	c.notices = append(c.notices, why+": "+strings.Join(members, ", "))
	text := []rune(strings.Join(c.notices, "; "))
	if len(text) > maxNotice {
		text = append(text[:maxNotice], '…')
	}
	c.Header.Set(noticeHeader, url.PathEscape(string(text)))
}
