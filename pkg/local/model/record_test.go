package model

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRecordText compares the records that Append writes with encoding/json: both decode to the
// same record.
func TestRecordText(t *testing.T) {
	word := rapid.String()
	id := rapid.StringMatching(`[0-9a-f-]{1,36}(:[0-9]{1,4})?`)
	to := rapid.SampledFrom(States[:])
	request := rapid.Custom(func(t *rapid.T) Shape[*awsbatch.SubmitJobInput] {
		in := &awsbatch.SubmitJobInput{JobName: aws.String(word.Draw(t, "name")), JobQueue: aws.String("default")}
		text, err := json.MarshalIndent(map[string]string{"jobName": *in.JobName, "jobQueue": "default"}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		s, err := ShapeOf(in, rapid.SampledFrom([][]byte{text, nil}).Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	one := rapid.Custom(func(t *rapid.T) Event {
		switch rapid.IntRange(0, 6).Draw(t, "event") {
		case 0:
			return Event{Submitted: &Submission{ID: id.Draw(t, "id"), Definition: word.Draw(t, "definition"), Directory: word.Draw(t, "directory"),
				Invocation: word.Draw(t, "invocation"), To: rapid.SampledFrom([]State{NoState, Runnable}).Draw(t, "to"), Request: request.Draw(t, "request")}}
		case 1:
			return Event{Moved: &move{Job: id.Draw(t, "id"), All: rapid.Bool().Draw(t, "all"), To: to.Draw(t, "to"), Reason: word.Draw(t, "reason")}}
		case 2:
			return Event{Started: &Start{Job: id.Draw(t, "id"), Stream: id.Draw(t, "stream"), Environment: word.Draw(t, "place"), Executor: word.Draw(t, "executor"),
				GPUs: rapid.SliceOfN(word, 0, 2).Draw(t, "gpus")}}
		case 3:
			return Event{Launched: &Launch{Job: id.Draw(t, "id"), Handle: word.Draw(t, "handle"), ImageDigest: word.Draw(t, "digest")}}
		case 4:
			e := &end{Job: id.Draw(t, "id"), Reason: word.Draw(t, "reason"), StatusReason: word.Draw(t, "status"), To: to.Draw(t, "to")}
			if rapid.Bool().Draw(t, "exited") {
				e.Exit = aws.Int32(rapid.Int32().Draw(t, "exit"))
			}
			if rapid.Bool().Draw(t, "several") {
				e.Containers = []ContainerEnd{{Reason: word.Draw(t, "why")}}
			}
			return Event{Ended: e}
		case 5:
			return Event{Explained: &Explanation{Job: id.Draw(t, "id"), Reason: word.Draw(t, "reason")}}
		default:
			return Event{Stopped: &Stop{Job: id.Draw(t, "id"), Reason: word.Draw(t, "reason")}}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := Record{At: rapid.Int64().Draw(t, "at"), Events: rapid.SliceOfN(one, 1, 3).Draw(t, "events")}
		text, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got, expected any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := json.Unmarshal(want, &expected); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Fatal(diff)
		}
		for _, c := range text {
			if c < ' ' {
				t.Fatalf("not one line: %q", text)
			}
		}
	})
}
