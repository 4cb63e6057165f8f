// Package ecs runs a job file on an ECS cluster without AWS Batch: the requests that
// stand for a plan's job, what ECS cannot hold of it, and a client that registers,
// runs once, watches and stops.
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
	// Command sends it: aws ecs run-task --cli-input-json.
	Command string
	// Input is the body, as it is sent.
	Input json.RawMessage
}

// body is what the SDK sends for an input of RegisterTaskDefinition or RunTask, with the
// members in the order of their names: the SDK writes those of a map in any order, and
// equal inputs are to have equal bodies.
func body(in any) (json.RawMessage, error) {
	kept := &keeper{}
	c := awsecs.New(awsecs.Options{Region: "none", Credentials: aws.AnonymousCredentials{}, HTTPClient: kept, Retryer: aws.NopRetryer{}},
		func(o *awsecs.Options) { o.IdempotencyTokenProvider = nil }) // or an input without a token is given one
	var err error
	switch in := in.(type) {
	case *awsecs.RegisterTaskDefinitionInput:
		_, err = c.RegisterTaskDefinition(context.Background(), in)
	case *awsecs.RunTaskInput:
		_, err = c.RunTask(context.Background(), in)
	default:
		err = fmt.Errorf("%T is not a request of a task", in)
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

var errKept = errors.New("the request is kept")

func (k *keeper) Do(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	k.text = text
	return nil, errKept
}

// as is a shape of Batch as the type that ECS has for it, or for more: where members have
// the same name they have the same form (API references of both).
func as[T any](b *builder, from any) (to T) {
	text, err := wire.Marshal(from)
	if err == nil {
		err = wire.Unmarshal(text, &to)
	}
	if err != nil {
		b.refuse("ECS has no such request: %v; take the member out of the file", err)
	}
	return to
}
