// Package ecs runs a job file on an ECS cluster without AWS Batch. It converts a plan's job to
// requests of ECS, reports what ECS cannot do, and has a client that registers definitions and
// runs, watches and stops tasks.
package ecs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Request is one AWS request.
type Request struct {
	Operation string
	// Command is the aws command that sends it, such as aws ecs run-task --cli-input-json.
	Command string
	// Input is the body that is sent.
	Input json.RawMessage
}

// body returns the request body of an input of RegisterTaskDefinition or RunTask.
// Its members are sorted, so that equal inputs have equal bodies; the SDK writes
// maps in random order.
func body(in any) (json.RawMessage, error) {
	kept := &keeper{}
	c := awsecs.New(awsecs.Options{Region: "none", Credentials: aws.AnonymousCredentials{}, HTTPClient: kept,
		Retryer: aws.NopRetryer{}},
		func(o *awsecs.Options) { o.IdempotencyTokenProvider = nil }) // or the SDK would add a token
	var err error
	switch in := in.(type) {
	case *awsecs.RegisterTaskDefinitionInput:
		_, err = c.RegisterTaskDefinition(context.Background(), in)
	case *awsecs.RunTaskInput:
		_, err = c.RunTask(context.Background(), in)
	default:
		err = fmt.Errorf("%T is not a request for a task", in)
	}
	if !errors.Is(err, errKept) {
		return nil, err
	}
	var members any
	d := json.NewDecoder(bytes.NewReader(kept.text))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err = e.Encode(members)
	return bytes.TrimSpace(text.Bytes()), err
}

// keeper is an HTTP client that keeps the body of a request and sends nothing.
type keeper struct{ text []byte }

// errKept is the error of every request of a keeper.
var errKept = errors.New("the request is kept")

// Do keeps the body of r.
func (k *keeper) Do(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	k.text = text
	return nil, errKept
}

// as converts a shape of AWS Batch to the type that ECS has for it. Members with
// the same name have the same form (API references of both). A member that does
// not fit is refused.
func as[T any](b *builder, from any) (to T) {
	text, err := wire.Marshal(from)
	if err == nil {
		err = wire.Unmarshal(text, &to)
	}
	if err != nil {
		b.refuse("ECS does not support this request: %v; remove the member from the file", err)
	}
	return to
}
