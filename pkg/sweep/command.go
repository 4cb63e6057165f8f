package sweep

import "slices"

//go:generate go test -run TestProgramIsSource -update

// The command of a child of Binary: this program and its command.
const (
	binaryName   = "batchctl"
	childCommand = "child"
)

// Command returns the container's command for the user's command and the Launcher. With
// Commands there is no user's command: the container runs the lines.
//
// The shell programs need an image without an entry point, or with one that runs its
// arguments. An image's own default command is unknown here, so the user's command must be
// explicit.
func (s *Sweep) Command(command []string) []string {
	switch s.Launcher {
	case Image:
		return command
	case Binary:
		return append([]string{binaryName, childCommand}, command...)
	}
	program := Program
	if s.Kind == Commands {
		program = LinesProgram
	}
	// The second "sh" is the shell's own name in its messages.
	return append([]string{"sh", "-c", program, "sh"}, command...)
}

// UserCommand returns the user's part of a container's command, and its launcher. A command that is not
// from Command with Shell or Binary is the user's as a whole, and its launcher is Image.
func UserCommand(command []string) ([]string, Launcher) {
	if len(command) > 3 && command[0] == binaryName && command[1] == "measure" && command[2] == "--" { // of pkg/usage
		command = command[3:]
	}
	if len(command) >= 4 && command[0] == "sh" && command[1] == "-c" &&
		slices.Contains([]string{Program, LinesProgram}, command[2]) {
		return command[4:], Shell
	}
	if len(command) >= 2 && command[0] == binaryName && command[1] == childCommand {
		return command[2:], Binary
	}
	return command, Image
}
