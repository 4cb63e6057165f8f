package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/usage"
)

// CommandText returns a command as one line. It gives only the size of a long argument, such as the shell program that
// starts the children of an array.
func CommandText(command []string) string {
	var parts []string
	for _, arg := range command {
		switch {
		case len(arg) > 100 || strings.Contains(arg, "\n"):
			arg = fmt.Sprintf("<program of %d bytes>", len(arg))
		case arg == "" || strings.ContainsAny(arg, " \t'\"$`&|;<>()*?\\"):
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		parts = append(parts, arg)
	}
	return strings.Join(parts, " ")
}

// UncheckedImage is what a plan cannot check of a job that needs batchctl in its image.
const UncheckedImage = "whether the image has batchctl"

// RuleNoBatchctl is the rule about public images of jobs that need batchctl. The local engine needs no image for them.
const RuleNoBatchctl = "image-without-batchctl"

// NeedsBatchctl reports whether a container of the job starts batchctl, which its image then must contain. The local
// engine needs no batchctl in an image to measure.
func (j *Job) NeedsBatchctl(isLocal bool) bool {
	var commands [][]string
	if j.Submit != nil {
		commands = append(commands, j.command(j.Register))
	}
	if r := j.Register; r != nil && r.EcsProperties != nil {
		for _, t := range r.EcsProperties.TaskProperties {
			for _, c := range t.Containers {
				commands = append(commands, c.Command)
			}
		}
	}
	return slices.ContainsFunc(commands, func(command []string) bool {
		return len(command) > 1 && command[0] == usage.Launcher[0] && !(isLocal && command[1] == usage.Launcher[1])
	})
}
