package target

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/process"
)

// The background engine outlives the command that starts it, so it keeps only what it needs of that
// command. It has its own session, working directory and umask, none of the caller's open files,
// and only the variables listed here. Jobs can read the environment of the engine, so it must not
// have credentials.

// daemonVariables are the variables that a background engine keeps; a trailing * matches the rest.
// Except for the first two lines they are for docker, podman and their credential helpers, and for
// drivers.
var daemonVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "SYSTEMROOT", "USERPROFILE", "TEMP",
	"TMP",
	"BATCHCTL_*", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
	"XDG_*", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH",
	"DOCKER_TLS_VERIFY", "DOCKER_API_VERSION",
	"CONTAINER_HOST", "CONTAINERS_*", "REGISTRY_AUTH_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
	"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_*",
}

// proxyVariables are kept unless they contain a password.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}

// credentialSuffixes end the names of variables that are not kept.
var credentialSuffixes = []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}

// daemonEnvironment returns the part of an environment that a background engine keeps.
func daemonEnvironment(environ []string) (kept []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		// NVIDIA_* and the like also match the keys of services.
		if slices.ContainsFunc(credentialSuffixes,
			func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
			continue
		}
		proxy := slices.Contains(proxyVariables, strings.ToUpper(name)) && !strings.Contains(value, "@")
		if proxy || slices.ContainsFunc(daemonVariables, func(pattern string) bool {
			prefix, wild := strings.CutSuffix(pattern, "*")
			return name == pattern || wild && strings.HasPrefix(name, prefix)
		}) {
			kept = append(kept, v)
		}
	}
	return kept
}

// startedByVariable tells a background engine which command started it.
const startedByVariable = "BATCHCTL_STARTED_BY"

// startedBy returns the name of the command that starts an engine: of this one, or of the one that started this
// background engine.
func startedBy() string {
	if by := os.Getenv(startedByVariable); by != "" {
		return by
	}
	if len(os.Args) > 1 {
		return os.Args[1]
	}
	return ""
}

// spawn starts this program again as a daemon and returns a pipe from its stdout.
func spawn(log *os.File, args []string) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	cmd := exec.Command(self(), args...)
	cmd.Args[0] = "batchctl"
	cmd.Stdout, cmd.Stderr = write, log
	cmd.Dir = filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	cmd.Env = append(daemonEnvironment(os.Environ()), startedByVariable+"="+startedBy())
	cmd.SysProcAttr = detached()
	process.CloseOnExec()
	if err := cmd.Start(); err != nil {
		read.Close()
		return nil, err
	}
	return read, cmd.Process.Release()
}
