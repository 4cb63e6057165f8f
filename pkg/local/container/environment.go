package container

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// handover is how a job's variables reach the program. They are not on its command line, where
// every user of the machine can read them.
type handover struct {
	file  string   // lines NAME=VALUE, which the program reads from stdin
	own   []string // NAME=VALUE in the program's own environment
	flags []string
}

// environment passes on the job's variables. Both programs read a line of a file unchanged, but a
// value is one line. Other values are passed in the program's own environment, unless they could
// change what the program does. Those few are left on the command line, unless the value is a secret.
func environment(a attempt.Attempt) (handover, error) {
	h := handover{flags: []string{"--env-file=/dev/stdin"}}
	for _, v := range variables(a) {
		switch text := v.name + "=" + v.value; {
		case fitsLine(v.name, v.value):
			h.file += text + "\n"
		case isForeign(v.name, v.value):
			h.own = append(h.own, text)
			h.flags = append(h.flags, "--env="+v.name)
		case slices.Contains(a.Secrets, v.name):
			return h, fmt.Errorf("secret %s: its value cannot be passed without other users being able to read it: it is long or has several lines, "+
				"and docker or podman may use a variable of this name", v.name)
		default:
			h.flags = append(h.flags, "--env="+text)
		}
	}
	return h, nil
}

// variable is an environment variable of a job.
type variable struct{ name, value string }

// variables returns the job's variables, each once, with the devices that it may see: "void" hides
// them from NVIDIA's container tools, which otherwise show all that an image requests.
func variables(a attempt.Attempt) []variable {
	const visible = "NVIDIA_VISIBLE_DEVICES"
	all := []variable{{visible, cmp.Or(strings.Join(a.GPUs, ","), "void")}}
	for _, v := range slices.Backward(a.Environment) { // of two with one name the last counts
		name := aws.ToString(v.Name)
		if !slices.ContainsFunc(all, func(v variable) bool { return v.name == name }) {
			all = append(all, variable{name, aws.ToString(v.Value)})
		}
	}
	slices.Reverse(all)
	return all
}

// longestLine is the line length that both programs can read: a line of a bufio.Scanner without its
// end.
const longestLine = 64<<10 - 2

// fitsLine reports whether a line of an env file sets exactly this variable. The programs remove a
// carriage return at the end, skip lines that begin with #, and reject names with spaces and text
// that is not UTF-8.
func fitsLine(name, value string) bool {
	strange := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	return !strange && name != "" && !strings.HasPrefix(name, "#") && !strings.Contains(value, "\n") &&
		!strings.HasSuffix(value, "\r") &&
		utf8.ValidString(value) && len(name)+1+len(value) <= longestLine
}

// readPrefixes begin the names of variables that docker, podman, or programs that they start may
// read: their own, the loader's, Go's, those of shells and of systemd.
var readPrefixes = []string{"DOCKER", "CONTAINER", "_CONTAINER", "PODMAN", "BUILDAH", "BUILDKIT", "BUILDX", "MOBY_",
	"STORAGE_", "REGISTR",
	"XDG_", "DBUS_", "LISTEN_", "NOTIFY_", "WATCHDOG_", "LD_", "DYLD_", "GLIBC_", "GCONV_", "MALLOC_", "BASH", "PYTHON",
	"PERL", "OTEL_",
	"GRPC_", "SSL_CERT_", "SSH_A", "LC_"}

// readNames are variables that the programs read under exactly these names.
var readNames = []string{"PATH", "HOME", "HOST_ROOT", "USER", "LOGNAME", "SUDO_USER", "PWD", "SHELL", "ENV", "IFS",
	"TERM", "LANG", "TZ", "TZDIR",
	"TMP", "TEMP", "TMPDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GNUPGHOME",
	"KUBECONFIG",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY", "LOGLEVEL", "OPT"}

// isForeign reports whether a variable does not affect the program: its name has no such prefix,
// and it is not set in its environment to another value.
func isForeign(name, value string) bool {
	strange := strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	own, set := os.LookupEnv(name)
	upper := strings.ToUpper(name)
	return !strange && (!set || own == value) && name != "" && !slices.Contains(readNames, upper) &&
		!slices.ContainsFunc(readPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
}
