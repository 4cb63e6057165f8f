package api

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/batchctl/batchctl/pkg/wire"
)

// NewKey returns a random key pair. The engine creates one when it opens, see Connection.
func NewKey() aws.Credentials {
	return aws.Credentials{AccessKeyID: "LOCAL" + strings.ToUpper(rand.Text()[:15]),
		SecretAccessKey: rand.Text() + rand.Text()}
}

// fromHere rejects a request that a web page could send, whatever its signature: a host name that
// is not loopback (DNS rebinding), a foreign origin, a preflight. There are no CORS headers, so a
// page could not read an answer either.
func fromHere(r *http.Request) error {
	if err := fromNoPage(r); err != nil {
		return err
	}
	switch {
	case r.ContentLength != 0 && !jsonType(r.Header.Get("Content-Type")):
		return forbidden("Content-Type %q: a body must be application/json or application/x-amz-json-1.1.",
			r.Header.Get("Content-Type"))
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		return forbidden("Content-Encoding %q is not supported.", r.Header.Get("Content-Encoding"))
	}
	return nil
}

// fromNoPage is the part of fromHere for requests of any protocol.
func fromNoPage(r *http.Request) error {
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method == http.MethodOptions:
		return forbidden("OPTIONS is not supported.")
	case !loopbackHost(r.Host):
		return forbidden("Host %q is not this machine: use 127.0.0.1, [::1] or localhost.", r.Host)
	case len(r.Header.Values("Origin")) > 0 && origin != "http://"+r.Host:
		return forbidden("Origin %q is not allowed to use this engine.", origin)
	case site != "" && site != "none" && site != "same-origin":
		return forbidden("Requests from other sites (Sec-Fetch-Site %s) are rejected.", site)
	}
	return nil
}

// forbidden returns an error with status 403, which no SDK retries. Its message tells what the
// request has to look like.
func forbidden(format string, args ...any) error {
	f := wire.ClientException(format, args...)
	f.Type, f.Status = "AccessDeniedException", http.StatusForbidden
	return f
}

// loopbackHost reports whether a Host header names this machine. It compares names and resolves
// nothing: an attacker's DNS name may resolve to 127.0.0.1.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name == "127.0.0.1" || name == "::1" || name == "localhost"
	}
	return host == "127.0.0.1" || host == "[::1]" || host == "localhost"
}

// jsonType reports whether a Content-Type is one of the two that SDKs send to these services. A
// web page cannot send them to another origin without a preflight.
func jsonType(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || kind == "application/x-amz-json-1.1"
}

// signature is a parsed Authorization header of Signature Version 4.
type signature struct {
	key, day, region, service string
	// signed is SignedHeaders as the request spells it, for the canonical request.
	signed string
	// headers are the names in signed.
	headers []string
	// digest is the HMAC that the client computed.
	digest []byte
}

// parseSignature reads "AWS4-HMAC-SHA256 Credential=key/day/region/service/aws4_request,
// SignedHeaders=a;b, Signature=hex".
func parseSignature(text string) (s signature, ok bool) {
	rest, ok := strings.CutPrefix(text, "AWS4-HMAC-SHA256 ")
	if !ok {
		return s, false
	}
	var scope, headers, sum string
	for part := range strings.SplitSeq(rest, ",") { // some clients put a blank after the comma
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			scope = value
		case "SignedHeaders":
			headers = value
		case "Signature":
			sum = value
		}
	}
	parts := strings.Split(scope, "/")
	digest, err := hex.DecodeString(sum)
	if len(parts) != 5 || parts[4] != "aws4_request" || headers == "" || sum == "" || err != nil {
		return s, false
	}
	return signature{key: parts[0], day: parts[1], region: parts[2], service: parts[3],
		signed: headers, headers: strings.Split(headers, ";"), digest: digest}, true
}

const (
	// amzDate is the layout of X-Amz-Date: a time in UTC.
	amzDate = "20060102T150405Z"
	// maxSkew is how far the time of a signature may be from now, as at AWS.
	maxSkew = 15 * time.Minute
)

// verifier checks signatures that are created with one key. It is safe for concurrent use: each
// derived key has a pool of hashes, so that requests do not wait for each other.
type verifier struct {
	key aws.Credentials

	deriving sync.Mutex
	// derived has the hashes with derived keys, by day/region/service.
	derived map[string]*sync.Pool
	// texts has the buffers in which requests are put together, as *[]byte.
	texts sync.Pool
}

// howToSign tells a client without the engine's key how to get it.
const howToSign = "To set the key in your shell: eval \"$(batchctl env)\""

// verify checks that r is signed with the key for service. It computes the signature again, over
// the headers that the request's signature covers.
func (v *verifier) verify(r *http.Request, body []byte, service string) error {
	got, ok := parseSignature(r.Header.Get("Authorization"))
	if !ok {
		return unauthorized("MissingAuthenticationTokenException",
			"The request is not signed (Signature Version 4) with the engine's key. "+howToSign)
	}
	// The errors have the codes of AWS, which tell SDKs and people which part is wrong.
	at, err := time.Parse(amzDate, r.Header.Get("X-Amz-Date"))
	switch skew := time.Since(at); {
	case err != nil || at.Format("20060102") != got.day:
		return unauthorized("IncompleteSignatureException",
			"The signature needs an X-Amz-Date on the day of its scope.")
	case skew > maxSkew || skew < -maxSkew:
		return unauthorized("RequestExpired", "The signature's time is more than 15 minutes from now.")
	case got.service != service:
		return unauthorized("SignatureDoesNotMatch", "The request is signed for service "+got.service+", not "+service+
			".")
	case subtle.ConstantTimeCompare([]byte(got.key), []byte(v.key.AccessKeyID)) != 1:
		return unauthorized("UnrecognizedClientException",
			"The access key is not that of this engine: each engine creates a new key when it starts. "+howToSign)
	case !covers(got.headers, r):
		return unauthorized("SignatureDoesNotMatch",
			"The signature must cover the headers host, x-amz-date and x-amz-target.")
	}
	if !hmac.Equal(v.sign(r, body, got), got.digest) {
		return unauthorized("SignatureDoesNotMatch", "The signature does not match the request and the engine's key.")
	}
	return nil
}

// unauthorized returns an error with status 403 and one of the error codes that AWS uses for
// signatures, such as SignatureDoesNotMatch. Messages tell how to sign correctly.
func unauthorized(kind, message string) error {
	return &wire.Fault{Type: kind, Status: http.StatusForbidden, Message: message}
}

// covers reports whether the headers that the API reads are signed.
func covers(signed []string, r *http.Request) bool {
	for _, name := range []string{"X-Amz-Date", "X-Amz-Target"} {
		if len(r.Header.Values(name)) > 0 && !slices.Contains(signed, strings.ToLower(name)) {
			return false
		}
	}
	return slices.Contains(signed, "host")
}

// sign returns the signature of r over the headers in s ("Create a signed AWS API request", IAM
// user guide).
func (v *verifier) sign(r *http.Request, body []byte, s signature) []byte {
	buffer, ok := v.texts.Get().(*[]byte)
	if !ok {
		buffer = new(make([]byte, 0, 1024))
	}
	defer v.texts.Put(buffer)
	// The canonical request: method, path, query, headers, their names, digest of the body.
	text := append(append((*buffer)[:0], r.Method...), '\n')
	text = append(append(text, httpbinding.EscapePath(r.URL.EscapedPath(), false)...), '\n')
	text = append(append(text, canonicalQuery(r.URL)...), '\n')
	for _, name := range s.headers {
		text = append(append(text, name...), ':')
		text = append(appendHeader(text, r, name), '\n')
	}
	text = append(append(append(text, '\n'), s.signed...), '\n')
	text = appendDigest(text, body)

	// The string to sign has the digest of the canonical request.
	scope := s.day + "/" + s.region + "/" + s.service
	request := sha256.Sum256(text)
	text = append(text[:0], "AWS4-HMAC-SHA256\n"...)
	text = append(append(text, r.Header.Get("X-Amz-Date")...), '\n')
	text = append(append(text, scope...), "/aws4_request\n"...)
	text = hex.AppendEncode(text, request[:])
	*buffer = text

	keyed := v.keyed(scope, s)
	h := keyed.Get().(hash.Hash)
	defer keyed.Put(h)
	h.Reset()
	h.Write(text)
	return h.Sum(nil)
}

// keptScopes is how many derived keys are kept. A client has one for each service and day.
const keptScopes = 16

// keyed returns the pool of hashes with the key for a scope. Deriving a key takes four HMACs; a
// client signs all requests of a day with the same key.
func (v *verifier) keyed(scope string, s signature) *sync.Pool {
	v.deriving.Lock()
	defer v.deriving.Unlock()
	keyed, ok := v.derived[scope]
	if !ok {
		key := []byte("AWS4" + v.key.SecretAccessKey)
		for _, part := range [...]string{s.day, s.region, s.service, "aws4_request"} {
			key = mac(key, []byte(part))
		}
		// A client with the key could fill the map with scopes, so it starts again when full.
		if v.derived == nil || len(v.derived) >= keptScopes {
			v.derived = map[string]*sync.Pool{}
		}
		keyed = &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}
		v.derived[scope] = keyed
	}
	return keyed
}

// mac returns the HMAC-SHA256 of a text, one step of deriving the signing key.
func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// appendDigest appends the SHA-256 of a body in hexadecimal form.
func appendDigest(text, of []byte) []byte {
	sum := sha256.Sum256(of)
	return hex.AppendEncode(text, sum[:])
}

// canonicalQuery returns the query sorted by name and then value, both escaped; sorting unescaped
// text would give another order (IAM User Guide, "Create a signed AWS API request").
func canonicalQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	var pairs [][2]string
	for name, values := range u.Query() {
		for _, value := range values {
			pairs = append(pairs, [2]string{escapeQuery(name), escapeQuery(value)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	var text strings.Builder
	for i, p := range pairs {
		if i > 0 {
			text.WriteByte('&')
		}
		text.WriteString(p[0] + "=" + p[1])
	}
	return text.String()
}

// escapeQuery escapes as Signature Version 4 requires: RFC 3986, with a blank as %20, where
// net/url writes a plus.
func escapeQuery(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// appendHeader appends the values of a signed header, blanks trimmed.
func appendHeader(text []byte, r *http.Request, name string) []byte {
	switch name {
	case "host":
		return append(text, r.Host...)
	case "content-length": // net/http keeps it apart
		return strconv.AppendInt(text, r.ContentLength, 10)
	}
	for i, value := range r.Header.Values(name) {
		if i > 0 {
			text = append(text, ',')
		}
		// The standard requires that runs of blanks become one.
		for j, field := range strings.Fields(value) {
			if j > 0 {
				text = append(text, ' ')
			}
			text = append(text, field...)
		}
	}
	return text
}
