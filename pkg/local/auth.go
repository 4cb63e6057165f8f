package local

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/batchctl/batchctl/pkg/wire"
)

// newKey returns a random key pair. It is made when an engine opens and ends with it.
func newKey() aws.Credentials {
	return aws.Credentials{AccessKeyID: "LOCAL" + strings.ToUpper(rand.Text()[:15]), SecretAccessKey: rand.Text() + rand.Text()}
}

// fromHere refuses what a web page could send, whatever it is signed with: a
// name that is not this machine's (DNS rebinding), a foreign origin, a preflight.
// There are no CORS headers, so a page could not read an answer either.
func fromHere(r *http.Request) error {
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method == http.MethodOptions:
		return forbidden("OPTIONS is not answered here.")
	case !loopbackHost(r.Host):
		return forbidden("Host %q is not this machine: use 127.0.0.1, [::1] or localhost.", r.Host)
	case len(r.Header.Values("Origin")) > 0 && origin != "http://"+r.Host:
		return forbidden("Origin %q may not use this engine.", origin)
	case site != "" && site != "none" && site != "same-origin":
		return forbidden("Requests from other sites (Sec-Fetch-Site %s) are not answered.", site)
	case r.ContentLength != 0 && !jsonType(r.Header.Get("Content-Type")):
		return forbidden("Content-Type %q: a body must be application/json or application/x-amz-json-1.1.", r.Header.Get("Content-Type"))
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		return forbidden("Content-Encoding %q is not taken.", r.Header.Get("Content-Encoding"))
	}
	return nil
}

func forbidden(format string, args ...any) error {
	f := wire.ClientException(format, args...)
	f.Type, f.Status = "AccessDeniedException", http.StatusForbidden
	return f
}

func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name == "127.0.0.1" || name == "::1" || name == "localhost"
	}
	return host == "127.0.0.1" || host == "[::1]" || host == "localhost"
}

func jsonType(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || kind == "application/x-amz-json-1.1"
}

// signature is an Authorization header of Signature Version 4.
type signature struct {
	key, day, region, service string
	headers                   []string
	text                      string // the whole header
}

// parseSignature reads "AWS4-HMAC-SHA256 Credential=key/day/region/service/aws4_request,
// SignedHeaders=a;b, Signature=hex".
func parseSignature(text string) (s signature, ok bool) {
	rest, ok := strings.CutPrefix(text, "AWS4-HMAC-SHA256 ")
	if !ok {
		return s, false
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || fields["SignedHeaders"] == "" || fields["Signature"] == "" {
		return s, false
	}
	return signature{key: scope[0], day: scope[1], region: scope[2], service: scope[3],
		headers: strings.Split(fields["SignedHeaders"], ";"), text: text}, true
}

const (
	amzDate = "20060102T150405Z"
	// maxSkew is how far the time of a signature may be from now, as at AWS.
	maxSkew = 15 * time.Minute
)

// verify checks that r is signed with key for service: the signature is made a
// second time, over the headers that the first one covers.
func verify(r *http.Request, body []byte, service string, key aws.Credentials) error {
	got, ok := parseSignature(r.Header.Get("Authorization"))
	if !ok {
		return unauthorized("MissingAuthenticationTokenException", "The request is not signed (Signature Version 4) with the engine's key; "+
			"it is in the engine's connection file.")
	}
	at, err := time.Parse(amzDate, r.Header.Get("X-Amz-Date"))
	switch skew := time.Since(at); {
	case err != nil || at.Format("20060102") != got.day:
		return unauthorized("IncompleteSignatureException", "The signature needs an X-Amz-Date of the day that it is for.")
	case skew > maxSkew || skew < -maxSkew:
		return unauthorized("RequestExpired", "The signature's time is more than 15 minutes from now.")
	case got.service != service:
		return unauthorized("SignatureDoesNotMatch", "The request is signed for service "+got.service+", not "+service+".")
	case subtle.ConstantTimeCompare([]byte(got.key), []byte(key.AccessKeyID)) != 1:
		return unauthorized("UnrecognizedClientException", "The access key is not that of this engine; it makes a new one each time it starts.")
	case !covers(got.headers, r):
		return unauthorized("SignatureDoesNotMatch", "The signature must cover the headers host, x-amz-date, x-amz-target and "+
			strings.ToLower(workDirHeader)+".")
	}
	want, err := resign(r, body, got, key, at)
	if err != nil || subtle.ConstantTimeCompare([]byte(normal(want)), []byte(normal(got.text))) != 1 {
		return unauthorized("SignatureDoesNotMatch", "The signature does not fit the request and the engine's key.")
	}
	return nil
}

func unauthorized(kind, message string) error {
	return &wire.Fault{Type: kind, Status: http.StatusForbidden, Message: message}
}

// covers reports whether the headers that mean something here are signed.
func covers(signed []string, r *http.Request) bool {
	for _, name := range []string{"X-Amz-Date", "X-Amz-Target", workDirHeader} {
		if len(r.Header.Values(name)) > 0 && !slices.Contains(signed, strings.ToLower(name)) {
			return false
		}
	}
	return slices.Contains(signed, "host")
}

// resign signs r as its sender should have.
func resign(r *http.Request, body []byte, s signature, key aws.Credentials, at time.Time) (string, error) {
	clone := &http.Request{Method: r.Method, Host: r.Host, Header: http.Header{},
		URL: &url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}}
	for _, name := range s.headers {
		switch name {
		case "host":
		case "content-length": // the signer takes it from the request itself
			clone.ContentLength = r.ContentLength
		default:
			clone.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	hash := sha256.Sum256(body)
	signer := v4.NewSigner()
	if err := signer.SignHTTP(r.Context(), key, clone, hex.EncodeToString(hash[:]), s.service, s.region, at); err != nil {
		return "", err
	}
	return clone.Header.Get("Authorization"), nil
}

// normal leaves out the blanks that some clients do not put after the commas.
func normal(authorization string) string { return strings.ReplaceAll(authorization, ", ", ",") }
