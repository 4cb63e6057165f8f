package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// Fault is an error answer of a service, in a form that the SDKs, boto3 and the aws CLI decode to
// its type and message.
type Fault struct {
	// Type is the error's shape name: ClientException or ServerException in
	// Batch, ResourceNotFoundException, InvalidParameterException and others in
	// CloudWatch Logs.
	Type string
	// Status is the HTTP status; 0 means 400.
	Status  int
	Message string
	// QueryCompileError is a further member of a MalformedQueryException.
	QueryCompileError *QueryCompileError
}

// Error has the type before the message.
func (f *Fault) Error() string { return f.Type + ": " + f.Message }

// ClientException returns Batch's answer to a request that it rejects.
func ClientException(format string, args ...any) *Fault {
	return &Fault{Type: "ClientException", Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// ServerException returns Batch's answer to an internal error. The SDKs retry it.
func ServerException(format string, args ...any) *Fault {
	return &Fault{Type: "ServerException", Status: http.StatusInternalServerError,
		Message: fmt.Sprintf(format, args...)}
}

// WriteFault answers with f. The header serves restJson1 (Batch), the __type
// member AWS JSON 1.1 (CloudWatch Logs); each protocol ignores the other's.
func WriteFault(w http.ResponseWriter, f *Fault) error {
	members := map[string]any{"__type": f.Type, "message": f.Message}
	if f.QueryCompileError != nil {
		text, err := Marshal(f.QueryCompileError)
		if err != nil {
			return err
		}
		members["queryCompileError"] = json.RawMessage(text)
	}
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	w.Header().Set("X-Amzn-ErrorType", f.Type)
	return write(w, cmp.Or(f.Status, http.StatusBadRequest), body)
}

// WriteError answers with the Fault or the *Error in err's chain; an *Error becomes a
// ClientException. Any other error is internal: ServerException.
func WriteError(w http.ResponseWriter, err error) error {
	if f, ok := errors.AsType[*Fault](err); ok {
		return WriteFault(w, f)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return WriteFault(w, ClientException("%s", e))
	}
	return WriteFault(w, ServerException("%s", err))
}

// WriteOutput answers with the output of an operation.
func WriteOutput(w http.ResponseWriter, out any) error {
	body, err := Marshal(out)
	if err != nil {
		return WriteError(w, err)
	}
	return write(w, http.StatusOK, body)
}

// write sends an answer with its length.
func write(w http.ResponseWriter, status int, body []byte) error {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// ReadInput decodes a request, whose body has been read, into in, a pointer to the input of its
// operation. The tag operations have resourceArn in the path and tagKeys in the query.
func ReadInput(r *http.Request, body []byte, in any) error {
	if len(body) > 0 {
		if err := Unmarshal(body, in); err != nil {
			return err
		}
	}
	arn, ok := strings.CutPrefix(r.URL.Path, tagPrefix)
	if !ok {
		return nil
	}
	v := reflect.ValueOf(in).Elem()
	if f := v.FieldByName("ResourceArn"); f.IsValid() {
		f.Set(reflect.ValueOf(&arn))
	}
	if f := v.FieldByName("TagKeys"); f.IsValid() && r.URL.Query().Has("tagKeys") {
		f.Set(reflect.ValueOf(r.URL.Query()["tagKeys"]))
	}
	return nil
}

// Handle returns the handler of one operation: it reads the input, calls f and
// writes the output, or the error as WriteError does. The caller limits the body
// (http.MaxBytesReader).
func Handle[In, Out any](f func(context.Context, *In) (*Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "" {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		}
		in := new(In)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = ReadInput(r, body, in)
		}
		var out *Out
		if err == nil {
			out, err = f(r.Context(), in)
		}
		if err != nil {
			_ = WriteError(w, err) // a client that has disconnected needs no answer
			return
		}
		_ = WriteOutput(w, out)
	}
}
