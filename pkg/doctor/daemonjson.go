package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// daemon is the part of daemon.json that matters here.
type daemon struct {
	Runtimes       map[string]runtimeOf `json:"runtimes"`
	DefaultRuntime string               `json:"default-runtime"`
	// DataRoot is Docker's directory for images and containers; "" means /var/lib/docker.
	DataRoot string `json:"data-root"`
}

// runtimeOf is an entry of runtimes.
type runtimeOf struct {
	Path string `json:"path"`
}

const daemonFile = "etc/docker/daemon.json"

// errEmpty is a daemon.json without text, which Docker accepts from version 23.0 on.
var errEmpty = errors.New("the file is empty")

// readDaemon parses daemon.json. The error has the line.
func readDaemon(text string) (daemon, error) {
	var d daemon
	if strings.TrimSpace(text) == "" {
		return d, errEmpty
	}
	err := json.Unmarshal([]byte(text), &d)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return d, fmt.Errorf("line %d: %w", lineOf(text, syntax.Offset), err)
	case errors.As(err, &kind):
		return d, fmt.Errorf("line %d: %s cannot be a %s", lineOf(text, kind.Offset), kind.Field, kind.Value)
	}
	return d, err
}

// lineOf returns the line of an offset, from 1.
func lineOf(text string, offset int64) int {
	return 1 + strings.Count(text[:min(max(int(offset)-1, 0), len(text))], "\n")
}

// loadDaemon returns the content of daemon.json. exists is false if there is no such file.
func loadDaemon(p *probe) (daemon, bool, error) {
	text, ok := p.read(daemonFile)
	if !ok {
		return daemon{}, false, nil
	}
	d, err := readDaemon(text)
	return d, true, err
}
