package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/wire"
)

// TestDecodeReadsPagesAsJSON compares Decode with encoding/json, for pages as servers write them and for
// texts that are almost such pages.
func TestDecodeReadsPagesAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`\`, `\\`, `"`, `\"`, "a\tb\x1b[0m", "\u2028", "\xff", "", "é", `\u0041`}))
		var page wire.GetLogEventsOutput
		page.Events = []wire.OutputLogEvent{}
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			m, ms := text.Draw(t, "message"), rapid.Int64().Draw(t, "time")
			e := wire.OutputLogEvent{Message: &m, Timestamp: &ms, IngestionTime: &ms}
			if rapid.IntRange(0, 9).Draw(t, "absent") == 0 {
				e.IngestionTime = nil
			}
			page.Events = append(page.Events, e)
		}
		token := text.Draw(t, "token")
		page.NextForwardToken = &token
		data, err := wire.Marshal(&page)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "loose") {
			if data, err = json.MarshalIndent(json.RawMessage(data), "", " "); err != nil {
				t.Fatal(err)
			}
		}
		if n := rapid.IntRange(-1, len(data)-1).Draw(t, "damage"); n >= 0 && rapid.Bool().Draw(t, "damaged") {
			data[n] = rapid.SampledFrom([]byte(`{}[]",:\0-1eE.n `)).Draw(t, "byte")
		}
		var want, got wire.GetLogEventsOutput
		wantErr := json.Unmarshal(wire.PlainIntegers(data, true), &want)
		gotErr := got.Decode(data)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: %v, want %v", data, gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Fatalf("%q: %s", data, diff)
		}
	})
}
