package once

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

// TestNewerLog checks that the log of a later version is left alone: with an unknown line or format,
// resume and drop name the file, the line and the version, and change nothing.
func TestNewerLog(t *testing.T) {
	for name, change := range map[string]func(lines []map[string]any) []map[string]any{
		`unknown line "paused"`: func(lines []map[string]any) []map[string]any {
			return append(lines, map[string]any{"time": lines[0]["time"], "what": "paused", "reason": "later"})
		},
		"format 3": func(lines []map[string]any) []map[string]any {
			lines[0]["format"] = 3
			return lines
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newerLog(t, name, change) })
		})
	}
}

func newerLog(t *testing.T, want string, change func([]map[string]any) []map[string]any) {
	d := newDamagedRun(t)
	var lines []map[string]any
	for text := range bytes.Lines(d.log) {
		var l map[string]any
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		delete(l, "sum")
		lines = append(lines, l)
	}
	if lines[0]["batchctl"] == nil {
		t.Error("the log does not name its writer")
	}
	lines[0]["batchctl"] = "v0.9.0"
	log, err := jsonLines(change(lines))
	if err != nil {
		t.Fatal(err)
	}
	path := d.c.Ledger.logs().logPath(d.name)
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	sent := len(d.f.Submitted)
	refused := func(err error) {
		t.Helper()
		newer, ok := errors.AsType[*RunDamageError](err)
		if !ok || !newer.Newer {
			t.Fatal(err)
		}
		for _, part := range []string{path, want, "written by batchctl v0.9.0", "nothing was changed"} {
			if !strings.Contains(newer.Error(), part) {
				t.Errorf("%v does not contain %q", newer, part)
			}
		}
		if newer.Line != 1 && newer.Line != len(lines)+1 {
			t.Errorf("line %d", newer.Line)
		}
	}
	_, err = d.c.Resume(t.Context(), d.name)
	refused(err)
	_, err = d.c.Drop(d.name)
	refused(err)
	open, err := d.c.Ledger.OpenRuns()
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	refused(open[0].Damage)
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, log) || len(d.f.Submitted) != sent {
		t.Errorf("changed: %v, %d requests, were %d", err, len(d.f.Submitted), sent)
	}
	if entries, err := d.c.Ledger.Entries(); err != nil || len(entries) == 0 {
		t.Errorf("the accepted jobs are not listed: %+v, %v", entries, err)
	}
	if _, err := d.c.Ledger.RunsOf(open[0].IDs...); err != nil {
		t.Error(err)
	}
}
