package sweep

import "slices"

//go:generate go test -run TestProgramIsSource -update

// The command of a child of Binary: this program and its command.
const (
	binaryName   = "batchctl"
	childCommand = "child"
)

// Command is the container's command for the user's, by Launcher. That of Commands has
// no user's command: it runs the lines.
//
// The shell programs need an image without an entry point, or with one that runs its
// arguments; and an image's own default command is not known here, so the user's must
// be written out.
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

// UserCommand is the user's part of a container's command, and what launches it. A
// command that Command did not make for Shell or Binary is all the user's, and its
// launcher is Image.
func UserCommand(command []string) ([]string, Launcher) {
	if len(command) >= 4 && command[0] == "sh" && command[1] == "-c" && slices.Contains([]string{Program, LinesProgram}, command[2]) {
		return command[4:], Shell
	}
	if len(command) >= 2 && command[0] == binaryName && command[1] == childCommand {
		return command[2:], Binary
	}
	return command, Image
}
