package bench

import (
	"bytes"
	"encoding/json"
)

// ReadMeasurement reads the result lines of a measurement: one side of a report's JSON, as its
// logs had them, or a log. side is the name of the report's side; isReport says that text is a
// report. A log is of one job, whatever its side.
func ReadMeasurement(text []byte, side string) (log *Log, isReport bool, err error) {
	lines, isReport := reportLines(text, side)
	if !isReport {
		lines = text
	}
	log, err = ReadLog(bytes.NewReader(lines))
	return log, isReport, err
}

// reportLines are the result lines of one side of a report, as its logs had them.
func reportLines(text []byte, side string) ([]byte, bool) {
	type written struct {
		Name string `json:"name"`
		Rows []struct {
			Results []json.RawMessage `json:"results"`
		} `json:"rows"`
	}
	var report struct {
		Comparison *struct {
			Base  written `json:"base"`
			Other written `json:"other"`
		} `json:"comparison"`
	}
	if json.Unmarshal(text, &report) != nil || report.Comparison == nil {
		return nil, false
	}
	var lines bytes.Buffer
	for _, s := range []written{report.Comparison.Base, report.Comparison.Other} {
		if s.Name != side {
			continue
		}
		for _, row := range s.Rows {
			for _, result := range row.Results {
				_ = json.Compact(&lines, result) // it was valid a moment ago
				lines.WriteByte('\n')
			}
		}
	}
	return lines.Bytes(), true
}
