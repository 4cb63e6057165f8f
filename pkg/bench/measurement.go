package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ReadMeasurement reads the result lines of a measurement: one side of a report's JSON, as its
// logs had them, or a log. side is the name of the report's side; isReport says that text is a
// report. A log is of one job, whatever its side.
func ReadMeasurement(text []byte, side string) (log *Log, isReport bool, err error) {
	lines, isReport, err := reportLines(text, side)
	if err != nil {
		return nil, isReport, err
	}
	if !isReport {
		lines = text
	}
	log, err = ReadLog(bytes.NewReader(lines))
	return log, isReport, err
}

// reportLines are the result lines of one side of a report, as its logs had them.
func reportLines(text []byte, side string) (found []byte, isReport bool, err error) {
	type written struct {
		Name string `json:"name"`
		Rows []struct {
			Results []json.RawMessage `json:"results"`
		} `json:"rows"`
	}
	var report struct {
		Version    int `json:"version"`
		Comparison *struct {
			Base  written `json:"base"`
			Other written `json:"other"`
		} `json:"comparison"`
	}
	err = json.Unmarshal(text, &report)
	switch {
	case report.Version > ReportVersion && report.Comparison != nil:
		return nil, true, fmt.Errorf("a newer batchctl wrote the report (version %d; this one reads %d): use that version", report.Version, ReportVersion)
	case err != nil, report.Comparison == nil:
		return nil, false, nil
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
	return lines.Bytes(), true, nil
}
