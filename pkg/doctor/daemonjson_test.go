package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func FuzzDaemon(f *testing.F) {
	for _, name := range fixtures(f) {
		f.Add(readFixture(f, name).files[daemonFile])
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readDaemon(text); err == nil && !strings.Contains(text, "{") && strings.TrimSpace(text) != "null" {
			t.Errorf("%q is no object and was taken", text)
		}
	})
}

func TestReadDaemonLines(t *testing.T) {
	_, err := readDaemon("{\n  \"runtimes\": {},\n}\n")
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("%v", err)
	}
	if _, err := readDaemon(" \n"); err == nil || errors.Is(err, context.Canceled) {
		t.Error("an empty daemon.json was taken")
	}
}
