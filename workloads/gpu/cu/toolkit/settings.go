package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// environment is the part of "go env" that the toolkit uses.
type environment struct {
	CC, AR, CGO_CFLAGS, CGO_LDFLAGS string
}

func goEnv() (environment, error) {
	var env environment
	out, err := goCommand("env", "-json", "CC", "AR", "CGO_CFLAGS", "CGO_LDFLAGS")
	if err != nil {
		return env, err
	}
	return env, json.Unmarshal(out, &env)
}

func goCommand(args ...string) ([]byte, error) {
	out, err := exec.Command("go", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// settings are the variables that cgo reads.
type settings struct {
	cflags, ldflags string
}

// String formats the settings as shell commands.
func (s settings) String() string {
	return fmt.Sprintf("export CGO_ENABLED=1\nexport CGO_CFLAGS=%s\nexport CGO_LDFLAGS=%s\n", quote(s.cflags),
		quote(s.ldflags))
}

func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// flags joins the list, quoted as the go command expects, and appends the flags that are already set.
func flags(list []string, set string) string {
	for i, flag := range list {
		if strings.ContainsAny(flag, " \t") {
			list[i] = `"` + flag + `"`
		}
	}
	if set != "" {
		list = append(list, set)
	}
	return strings.Join(list, " ")
}
