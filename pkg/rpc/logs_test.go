package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/smithy-go"
)

// reader is the call of an SDK client that reads a page of a log.
type reader = func(context.Context, *cloudwatchlogs.GetLogEventsInput, ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.GetLogEventsOutput, error)

// outcome is the result of a call.
type outcome struct {
	events, forward, backward, err string
	missing                        bool
	asked                          int
}

// readLogs makes one call in virtual time.
func readLogs(t *testing.T, answers []answer, call func(aws.Config) reader) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: answers}
		cfg := aws.Config{Region: "eu-central-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		out, err := call(cfg)(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s")})
		o.asked, o.missing = len(s.asked), Missing(err)
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			o.err = api.ErrorCode() + ": " + api.ErrorMessage()
		} else if err != nil {
			o.err = reflect.TypeOf(errors.Unwrap(err)).String()
		}
		if out == nil {
			return
		}
		for _, e := range out.Events {
			o.events += fmt.Sprintln(aws.ToString(e.Message), aws.ToInt64(e.Timestamp), aws.ToInt64(e.IngestionTime))
		}
		o.forward, o.backward = aws.ToString(out.NextForwardToken), aws.ToString(out.NextBackwardToken)
	})
	return o
}

// TestLogsAsTheSDK compares pages that package wire decodes with the SDK's: the same events,
// errors and number of requests.
func TestLogsAsTheSDK(t *testing.T) {
	const page = `{"events":[{"message":"a","timestamp":7,"ingestionTime":8},{"message":"\u00e9\n"}],"nextForwardToken":"f","nextBackwardToken":"b","new":{"a":1}}`
	fine := answer{status: 200, body: page}
	for name, answers := range map[string][]answer{
		"at once":        {fine},
		"empty":          {{status: 200, body: `{"events":[],"nextForwardToken":"f"}`}},
		"throttled":      {{status: 400, body: `{"__type":"ThrottlingException","message":"slow"}`}, fine},
		"always busy":    {{status: 503, body: `{"__type":"ServiceUnavailableException","message":"later"}`}},
		"no form of AWS": {{status: 502, body: "{}"}},
		"refused":        {{status: 400, body: `{"__type":"com.amazonaws#AccessDeniedException","message":"no"}`}},
		"missing":        {{status: 400, body: `{"__type":"ResourceNotFoundException","message":"The specified log stream does not exist."}`}},
		"cut off":        {{err: io.ErrUnexpectedEOF}, fine},
		"torn":           {{status: 200, body: page[:30]}},
	} {
		t.Run(name, func(t *testing.T) {
			ours := readLogs(t, answers, func(cfg aws.Config) reader { return newLogs(cfg).GetLogEvents })
			sdk := readLogs(t, answers, func(cfg aws.Config) reader { return cloudwatchlogs.NewFromConfig(cfg).GetLogEvents })
			if ours != sdk {
				t.Errorf("\nours %+v\nSDK  %+v", ours, sdk)
			}
		})
	}
}

// TestLogsWithFractions reads 1.0 as a whole number, which the SDK rejects.
func TestLogsWithFractions(t *testing.T) {
	_, c := scripted(answer{status: http.StatusOK, body: `{"events":[{"message":"a","timestamp":7.0}]}`})
	out, err := c.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s")})
	if err != nil || len(out.Events) != 1 || *out.Events[0].Timestamp != 7 {
		t.Errorf("%+v %v", out, err)
	}
}
