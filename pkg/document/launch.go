package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/usage"
)

// The arguments before the command of a job with inputs or outputs.
const (
	stageProgram = "batchctl"
	stageCommand = "stage"
	stageEnd     = "--"
)

// StagedCommand returns the command line that runs a command with its inputs and outputs.
// program is the path of batchctl in the container; "" means that PATH finds it.
func StagedCommand(program string, command []string) []string {
	if program == "" {
		program = stageProgram
	}
	return append([]string{program, stageCommand, stageEnd}, command...)
}

// MeasuredCommand returns the command line that also measures. Staging and the launcher of an array measure themselves;
// without a command, only the local engine measures.
func MeasuredCommand(command []string) []string {
	if len(command) == 0 || measuresItself(command) {
		return command
	}
	return slices.Concat(usage.Launcher, command)
}

// measuresItself reports whether a command begins with a launcher that measures.
func measuresItself(command []string) bool {
	return len(command) > 1 && command[0] == usage.Launcher[0] &&
		slices.Contains([]string{usage.Launcher[1], stageCommand, "child"}, command[1])
}
