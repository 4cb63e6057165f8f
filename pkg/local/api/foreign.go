package api

import (
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/api/call"
)

// ownServices are the signing names of the AWS services that the engine implements.
func ownServices() []string { return []string{"batch", "logs", "ecs"} }

// unsupportedService is the error code for a request to another service. No SDK retries it.
const unsupportedService = "UnsupportedService"

// foreignService returns the service that a request is signed for, if it is not one of the
// engine's: AWS_ENDPOINT_URL sends the requests of every service here.
func foreignService(r *http.Request) string {
	service := ""
	if s, ok := parseSignature(r.Header.Get("Authorization")); ok {
		service = s.service
	} else if scope := strings.Split(r.URL.Query().Get("X-Amz-Credential"), "/"); len(scope) == 5 { // a presigned URL
		service = scope[3]
	}
	// A longer name is no service and would only fill the answer.
	if service == "" || len(service) > 64 || slices.Contains(ownServices(), service) {
		return ""
	}
	return service
}

// refuseForeign rejects a request for another service in that service's protocol, so that its
// client prints the reason instead of failing to parse the answer.
func refuseForeign(w http.ResponseWriter, r *http.Request, service string) {
	message := "This is batchctl's local engine (AWS Batch, CloudWatch Logs, ECS only); it does not implement " +
		service +
		". To call AWS, undo the engine's environment variables: eval \"$(batchctl env --unset)\""
	contentType, body := foreignAnswer(r, service, message)
	status := http.StatusBadRequest  // no SDK retries it
	if r.Method == http.MethodHead { // has no body; S3 clients look for another Region after a 400
		status = http.StatusForbidden
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-ErrorType", unsupportedService)
	h.Set("X-Amzn-RequestId", call.NewID())
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has disconnected needs no answer
}

// xmlError is an error of the protocols that answer in XML. Type exists only in AWS Query.
type xmlError struct {
	Type    string `xml:",omitempty"`
	Code    string
	Message string
}

// foreignAnswer returns the error in the protocol of the request. The request shows whether that is
// JSON, Query or CBOR; only the service distinguishes REST XML from REST JSON.
func foreignAnswer(r *http.Request, service, message string) (contentType string, body []byte) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	inXML := func(v any) (string, []byte) {
		text, err := xml.Marshal(v)
		if err != nil { // strings alone always encode
			panic(err)
		}
		return "text/xml", append([]byte(xml.Header), text...)
	}
	e := xmlError{Code: unsupportedService, Message: message}
	query := kind == "application/x-www-form-urlencoded" || r.URL.Query().Has("Action")
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		return "application/cbor", cborError(message)
	case query && service == "ec2":
		return inXML(struct {
			XMLName xml.Name `xml:"Response"`
			Error   xmlError `xml:"Errors>Error"`
		}{Error: e})
	case strings.HasPrefix(service, "s3"):
		return inXML(struct {
			XMLName xml.Name `xml:"Error"`
			xmlError
		}{xmlError: e})
	case query, service == "route53", service == "cloudfront":
		e.Type = "Sender"
		return inXML(struct {
			XMLName xml.Name `xml:"ErrorResponse"`
			Error   xmlError
		}{Error: e})
	}
	// Clients of AWS JSON 1.0 and 1.1 expect the type that they sent.
	if r.Header.Get("X-Amz-Target") == "" || kind == "" {
		kind = "application/json"
	}
	body, err := json.Marshal(map[string]string{"__type": unsupportedService, "message": message})
	if err != nil {
		panic(err)
	}
	return kind, body
}

// cborError returns {"__type": ..., "message": ...} in CBOR (RFC 8949). Each text must be shorter
// than 64 KiB.
func cborError(message string) []byte {
	body := []byte{0xa2} // a map of two
	for _, text := range []string{"__type", unsupportedService, "message", message} {
		body = append(body, 0x79) // a text with a length of two bytes
		body = binary.BigEndian.AppendUint16(body, uint16(len(text)))
		body = append(body, text...)
	}
	return body
}
