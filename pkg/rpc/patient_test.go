package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/wire"
)

// both reads events with the client here and with the SDK's own one, from equal services in
// virtual time, and returns what each came to.
func both(t *testing.T, edit func(*aws.Config), service func() aws.HTTPClient) (ours, sdk outcome) {
	t.Helper()
	input := func() (group, stream *string) { return aws.String("g"), aws.String("s") }
	for at, call := range map[*outcome]func(context.Context, aws.Config) (string, error){
		&ours: func(ctx context.Context, cfg aws.Config) (string, error) {
			in := &wire.GetLogEventsInput{Limit: aws.Int32(3), StartFromHead: aws.Bool(true), StartTime: aws.Int64(5)}
			in.LogGroupName, in.LogStreamName = input()
			out, err := New(cfg).GetLogEvents(ctx, in)
			return fmt.Sprint(texts(out.Events), aws.ToString(out.NextForwardToken), aws.ToString(out.NextBackwardToken)), err
		},
		&sdk: func(ctx context.Context, cfg aws.Config) (string, error) {
			in := &cloudwatchlogs.GetLogEventsInput{Limit: aws.Int32(3), StartFromHead: aws.Bool(true), StartTime: aws.Int64(5)}
			in.LogGroupName, in.LogStreamName = input()
			out, err := cloudwatchlogs.NewFromConfig(cfg).GetLogEvents(ctx, in)
			if out == nil {
				out = &cloudwatchlogs.GetLogEventsOutput{}
			}
			return fmt.Sprint(texts(out.Events), aws.ToString(out.NextForwardToken), aws.ToString(out.NextBackwardToken)), err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			recorded := &recorder{HTTPClient: service()}
			cfg := aws.Config{Region: "eu-central-1", HTTPClient: recorded, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")}
			edit(&cfg)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			read, err := call(ctx, cfg)
			*at = outcome{read: read, asked: recorded.asked, kind: kindOf(err)}
		})
	}
	return ours, sdk
}

func texts[Event any](events []Event) (all []string) {
	for _, e := range events {
		v := reflect.ValueOf(e)
		all = append(all, *v.FieldByName("Message").Interface().(*string), fmt.Sprint(*v.FieldByName("Timestamp").Interface().(*int64)))
	}
	return all
}

// outcome is what a reader has of a call.
type outcome struct {
	read, kind string
	asked      []string
}

// kindOf is what callers ask an error.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	var status interface{ HTTPStatusCode() int }
	var connection interface{ ConnectionError() bool }
	kind := fmt.Sprintf("missing %v, canceled %v, connection %v", Missing(err), errors.Is(err, context.Canceled), errors.As(err, &connection))
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		kind += ", " + api.ErrorCode()
		if api.ErrorCode() != "UnknownError" {
			kind += " " + api.ErrorMessage()
		}
	}
	if errors.As(err, &status) && status.HTTPStatusCode() != 0 {
		kind += fmt.Sprint(", HTTP ", status.HTTPStatusCode())
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok {
		kind += ", " + dial.Op
	}
	return kind
}

// recorder notes what was asked, of whom, and signed for which day and Region.
type recorder struct {
	aws.HTTPClient
	asked []string
}

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	_, scope, _ := strings.Cut(request.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	r.asked = append(r.asked, fmt.Sprint(request.Method, " ", request.URL, " ", request.Header.Get("X-Amz-Target"), " ", scope, " ",
		request.Header.Get("X-Amz-Date")[:11], " ", sorted(body)))
	return r.HTTPClient.Do(request)
}

// sorted is a flat JSON object without the order of its members.
func sorted(body []byte) string {
	var in wire.GetLogEventsInput
	if err := wire.Unmarshal(body, &in); err != nil {
		return err.Error()
	}
	text, err := wire.Marshal(in)
	return fmt.Sprint(string(text), err)
}

const page = `{"events":[{"message":"a","timestamp":7,"ingestionTime":8}],"nextForwardToken":"f","nextBackwardToken":"b","new":{"a":1}}`

// TestPatientAsTheSDK holds calls to those of the SDK's own client: the same requests, as
// often, and what callers see of the answers.
func TestPatientAsTheSDK(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	fine := answer{status: 200, body: page}
	for name, answers := range map[string][]answer{
		"at once":        {fine},
		"throttled":      {{status: 400, body: `{"__type":"ThrottlingException","message":"slow"}`}, fine},
		"busy":           {{status: 503, body: `{"__type":"ServiceUnavailableException"}`}, {status: 500, body: "{}"}, fine},
		"always busy":    {{status: 503, body: `{"__type":"ServiceUnavailableException","message":"later"}`}},
		"no form of AWS": {{status: 502, body: "{}"}},
		"refused":        {{status: 400, body: `{"__type":"com.amazonaws#AccessDeniedException","message":"no"}`}},
		"missing":        {{status: 400, body: `{"__type":"ResourceNotFoundException","message":"The specified log stream does not exist."}`}},
		"expired":        {{status: 400, body: `{"__type":"ExpiredTokenException","message":"old"}`}},
		"no connection":  {{err: dial}},
		"cut off":        {{err: io.ErrUnexpectedEOF}, fine},
		"torn":           {{status: 200, body: page[:30]}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, sdk := both(t, func(*aws.Config) {}, func() aws.HTTPClient { return &script{answers: answers} })
			if !reflect.DeepEqual(ours, sdk) {
				t.Errorf("\nours %+v\nSDK  %+v", ours, sdk)
			}
		})
	}
	for name, edit := range map[string]func(*aws.Config){
		"attempts": func(c *aws.Config) { c.RetryMaxAttempts = 5 },
		"none":     func(c *aws.Config) { c.Retryer = func() aws.Retryer { return aws.NopRetryer{} } },
	} {
		t.Run(name, func(t *testing.T) {
			ours, sdk := both(t, edit, func() aws.HTTPClient {
				return &script{answers: []answer{{status: 429, body: `{"__type":"ThrottlingException","message":"slow"}`}}}
			})
			if !reflect.DeepEqual(ours, sdk) {
				t.Errorf("\nours %+v\nSDK  %+v", ours, sdk)
			}
		})
	}
}

// TestAdaptive only asks who would wait: the SDK's adaptive mode may wait for no time at all
// until some has passed, and virtual time never would.
func TestAdaptive(t *testing.T) {
	if r, ok := retryer(aws.Config{RetryMode: aws.RetryModeAdaptive}).(*retry.AdaptiveMode); !ok {
		t.Errorf("%T", r)
	}
}

// skewed refuses what is not signed for its own time.
type skewed struct{ by time.Duration }

func (s skewed) Do(r *http.Request) (*http.Response, error) {
	now := time.Now().Add(s.by).UTC()
	reply := &script{answers: []answer{{status: 200, body: page}}}
	if signed, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); signed.Sub(now).Abs() > 5*time.Minute {
		reply.answers[0] = answer{status: 400, body: `{"__type":"InvalidSignatureException","message":"Signature expired"}`}
	}
	out, err := reply.Do(r)
	out.Header.Set("Date", now.Format(http.TimeFormat))
	return out, err
}

func TestPatientWithAWrongClock(t *testing.T) {
	ours, sdk := both(t, func(*aws.Config) {}, func() aws.HTTPClient { return skewed{26 * time.Hour} })
	if !reflect.DeepEqual(ours, sdk) || len(ours.asked) != 2 || ours.kind != "" {
		t.Errorf("\nours %+v\nSDK  %+v", ours, sdk)
	}
}

// wants is a source of the configuration for FIPS and IPv6.
type wants struct {
	fips aws.FIPSEndpointState
	dual aws.DualStackEndpointState
}

func (w wants) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return w.fips, w.fips != aws.FIPSEndpointStateUnset, nil
}

func (w wants) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return w.dual, w.dual != aws.DualStackEndpointStateUnset, nil
}

// TestEndpointsOfLogsAsTheSDK goes through all partitions with all variants.
func TestEndpointsOfLogsAsTheSDK(t *testing.T) {
	for _, region := range []string{"us-east-1", "eu-central-1", "cn-north-1", "us-gov-east-1", "us-gov-west-1", "us-iso-east-1", "us-isob-east-1",
		"us-isof-south-1", "eu-isoe-west-1", "eusc-de-east-1", "xy-new-1"} {
		for _, w := range []wants{{}, {fips: aws.FIPSEndpointStateEnabled}, {dual: aws.DualStackEndpointStateEnabled},
			{aws.FIPSEndpointStateEnabled, aws.DualStackEndpointStateEnabled}, {aws.FIPSEndpointStateDisabled, aws.DualStackEndpointStateDisabled}} {
			ours, sdk := both(t, func(c *aws.Config) { c.Region, c.ConfigSources = region, []any{w} },
				func() aws.HTTPClient { return &script{answers: []answer{{status: 200, body: page}}} })
			if !reflect.DeepEqual(ours, sdk) {
				t.Errorf("%s, %+v:\nours %+v\nSDK  %+v", region, w, ours, sdk)
			}
		}
	}
}
