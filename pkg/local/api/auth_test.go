package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"
)

// TestSDKSignatures compares the verifier with the SDK's signer: the verifier accepts everything
// that the signer signs.
func TestSDKSignatures(t *testing.T) {
	v := &verifier{key: NewKey()}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9 :/+%&=~*é;,"]{0,12}`)
		u := &url.URL{Scheme: "http", Host: "localhost", Path: "/v1/tags/" + text.Draw(t, "path")}
		query := url.Values{}
		for _, name := range rapid.SliceOfN(text, 0, 3).Draw(t, "names") {
			query[name] = rapid.SliceOfN(text, 1, 3).Draw(t, "values")
		}
		u.RawQuery = query.Encode()
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		make := func() *http.Request {
			return &http.Request{Method: "DELETE", URL: u, Host: u.Host, Header: http.Header{}, ContentLength: int64(len(body))}
		}
		r := make()
		r.Header["X-Some"] = rapid.SliceOfN(rapid.StringMatching(` {0,2}[a-z]( {0,3}[a-z])* {0,2}`), 1, 3).Draw(t, "header")
		sum := sha256.Sum256(body)
		region := rapid.SampledFrom([]string{"local", "eu-west-1"}).Draw(t, "region")
		if err := v4.NewSigner().SignHTTP(t.Context(), v.key, r, hex.EncodeToString(sum[:]), "batch", region, time.Now()); err != nil {
			t.Fatal(err)
		}
		sent := r.URL
		if err := v.verify(r, body, "batch"); err != nil {
			t.Fatalf("%s %q: %v", sent, r.Header, err)
		}
		for _, other := range []*url.URL{{Path: u.Path + "x", RawQuery: u.RawQuery}, {Path: u.Path, RawQuery: u.RawQuery + "&x"}} {
			if r.URL = other; v.verify(r, body, "batch") == nil {
				t.Fatalf("%s passes for %s", other, sent)
			}
		}
		r.URL = sent
		if r.Header.Set("X-Some", "other"); v.verify(r, body, "batch") == nil {
			t.Fatal("another header passes")
		}
	})
}

func FuzzParseSignature(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=AKID/20260101/local/batch/aws4_request, SignedHeaders=host;x-amz-date, Signature=00ff")
	f.Add("AWS4-HMAC-SHA256 Credential=////,SignedHeaders=,Signature")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := parseSignature(text)
		if ok && (len(s.headers) == 0 || len(s.digest) == 0) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
