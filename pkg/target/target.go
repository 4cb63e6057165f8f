package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/text"
)

// Local is the name of the engine in this binary.
const Local = "local"

// Target is where requests go. Only this package distinguishes AWS from the local engine;
// everything else uses an aws.Config.
type Target struct {
	// Name is the target's name; Label is shown to people: `local`, or `aws 123456789012
	// us-east-1`.
	Name, Label string
	// Flags select this target in a next command; "" or with a space before each.
	Flags string
	// Client submits and reads jobs.
	Client *once.Client
	// Config is the configuration of Client.
	Config      aws.Config
	Submissions *once.Ledger
	// Executor is how the local engine runs jobs; "" if unknown.
	Executor string
	// runsJobs means that the command runs jobs and does not only stop or watch them.
	runsJobs bool
	// Several means that the followed jobs are part of a larger group, so that log lines have to
	// name their job.
	Several bool
	// Engine is the engine in this process, if there is one.
	Engine Engine
	// Close ends what Open started.
	Close func() error

	// others opens other targets of the platform file, for At.
	others opened

	once     sync.Once
	store    *objects.Store // by objects
	secrets  *secretsource.Source
	provider *Provider // nil unless the target is the local engine
}

// IsLocal reports whether the target is the local engine.
func (t *Target) IsLocal() bool { return t.Name == Local }

// Kind is the target as recorded in the ledger: `local`, or account and Region. It does not contain
// the engine's port.
func (t *Target) Kind() string {
	kind, _, _ := strings.Cut(t.Label, " (engine")
	return kind
}

// Need is what a command does with the target. It decides how to find a local engine.
type Need int

const (
	// ToRead reads jobs: from a running engine, or from the state on disk.
	ToRead Need = iota
	// ToChange submits, waits or stops. It uses a running engine, or starts one that keeps running
	// after this process.
	ToChange
	// ToRun keeps the engine in this process until the jobs finish.
	ToRun
)

// NameFrom returns --target, BATCHCTL_TARGET, the platform file's defaultTarget, or local. A
// profile or Region without a target does not mean the local engine.
func (o Options) NameFrom(platform *document.Platform) string {
	byDefault := ""
	if platform != nil {
		byDefault = platform.DefaultTarget
	}
	name := cmp.Or(o.Name, os.Getenv("BATCHCTL_TARGET"), byDefault, Local)
	if name == Local && o.Name == "" && o.NamesAWS() {
		return AWS
	}
	return name
}

// IsNamed reports whether the command line or the environment names the target.
func (o Options) IsNamed() bool { return cmp.Or(o.Name, os.Getenv("BATCHCTL_TARGET")) != "" }

// FlagsTo returns the flags with which a command without a file finds the target. The platform file
// beside a job file may not be found from the current directory.
func (o Options) FlagsTo(platform *document.Platform, name string) (flags string) {
	add := func(flag, value string) {
		if value != "" {
			flags += " --" + flag + " " + term.Quoted(value)
		}
	}
	file := o.Platform
	if file == "" && platform != nil && name != Local {
		_, named := platform.Target(name)
		nearest, _ := document.FindPlatform(".")
		if current, err := filepath.Abs(platform.Root.Source.Name); named && err == nil && current != nearest {
			file = platform.Root.Source.Name
		}
	}
	add("platform", file)
	add("target", o.Name)
	add("state-dir", o.StateDir)
	add("profile", o.Profile)
	add("region", o.Region)
	add("endpoint-url", o.EndpointURL)
	return flags
}

// Open opens the target with this name.
func Open(ctx context.Context, con *term.Console, o Options, platform *document.Platform, name string,
	why Need) (*Target, error) {
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if err := CheckStateDir(con, dir, why); err != nil {
		return nil, err
	}
	if dir == temporaryDir() && why != ToRead {
		fmt.Fprintf(con.Err, "note: this user has no home directory, so submissions are recorded in %s; to keep the record, choose a directory: --state-dir DIRECTORY or BATCHCTL_STATE_DIR\n", diag.Printable(dir))
	}
	var entry document.Target
	if platform != nil {
		entry, _ = platform.Target(name)
	}
	t := &Target{Name: name, Flags: o.FlagsTo(platform, name), Submissions: LedgerIn(con, dir),
		Close: func() error { return nil }}
	switch {
	case !isEndpoint(o.EndpointURL):
		err = exit.Usage("invalid --endpoint-url %q", o.EndpointURL).Try("use a URL such as http://127.0.0.1:5000")
	case !isRegion(o.Region):
		err = exit.Usage("invalid --region %q", o.Region).Try("use a Region such as eu-central-1")
	case name == Local && o.NamesAWS():
		err = exit.Usage("--region, --profile and --endpoint-url apply only to an AWS target").
			Try("remove them, or add --target aws")
	case name != Local && o.Executor.SecretsFrom != "":
		err = exit.Usage("--secrets-from applies only to the local target").
			Try("remove it: AWS reads the secrets from their valueFrom")
	case name == Local:
		var choice ExecutorChoice
		if choice, err = o.Executor.Choose(entry); err == nil {
			t.secrets, err = OpenSecrets(o.Executor.SecretsFrom)
		}
		if err == nil {
			t.runsJobs = choice.runs
			err = openLocal(ctx, con, t, dir, entry, choice, why)
		}
	case name == AWS || entry.Name != "":
		err = openAWS(ctx, con, t, o.Override(entry), why)
	default:
		return nil, Unknown(name, platform)
	}
	if err != nil {
		return nil, err
	}
	t.Submissions.Target = t.Kind()
	t.Client.Ledger, t.Client.Attached, t.Client.Stage = t.Submissions, why == ToRun, t.stage
	t.others.open = func(ctx context.Context, name string, why Need) (*Target, error) {
		return Open(ctx, con, o.elsewhere(name), platform, name, why)
	}
	t.Client.Elsewhere = t.clientAt
	closeOwn := t.Close
	t.Close = func() error { return errors.Join(t.others.close(), closeOwn()) }
	SubmitsWith(con, o, t.Client)
	t.Client.Notify = notifier(con, t)
	t.Client.WhyWaiting = t.whyWaiting
	t.Client.ImageDigests = rpc.New(t.Config).ImageDigests
	if t.IsLocal() {
		t.Client.PollAtMost = 500 * time.Millisecond // no shared quota
		t.Client.LogsAtOnce = true
		t.Client.Patience = enginePatience
		t.Client.TakesOnce = true
	} else {
		t.Client.Replayable = once.CanReplay(ctx, t.Config)
		t.Client.Machines, t.Client.Measured = rpc.New(t.Config).Machines, t.measured
	}
	if why == ToChange && entry.Name != "" && name != Local && name != AWS {
		rememberPlatform(t.Submissions, platform, name)
	}
	if why != ToRead {
		fmt.Fprintf(con.Err, "target: %s\n", diag.Printable(t.Label))
		NameExecutor(con, dir, t.Executor, t.runsJobs)
	}
	return t, nil
}

// Exists reports whether there is a target with this name.
func Exists(name string, platform *document.Platform) bool {
	if name == Local || name == AWS {
		return true
	}
	if platform == nil {
		return false
	}
	_, known := platform.Target(name)
	return known
}

// enginePatience is how long a command waits for a local engine that no longer answers. After a
// shutdown the state directory answers instead, so the engine was killed or hangs. The next one
// takes over its address and key.
const enginePatience = 20 * time.Second

// Unknown returns the error for a target that does not exist.
func Unknown(name string, platform *document.Platform) error {
	names := []string{Local, AWS}
	if platform != nil {
		for _, t := range platform.Targets {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	where := "no " + document.PlatformFile + " found here or above"
	if platform != nil && platform.Root != nil {
		where = "from " + platform.Root.Source.Name
	}
	return exit.Usage("unknown target %q", name).
		Try("%s", diag.Instead(name, names, diag.Offer{Near: "did you mean --target %s?",
			Are: "known targets (" + where + ")"}))
}

// rememberPlatform records the platform file of a target, for later commands. It ignores errors:
// those commands then need --platform.
func rememberPlatform(ledger *once.Ledger, platform *document.Platform, name string) {
	if platform.Root == nil {
		return
	}
	if path, err := filepath.Abs(platform.Root.Source.Name); err == nil {
		_ = ledger.RememberPlatform(name, path)
	}
}

// Dir returns the directory of the local engine and the ledger of submissions. A user without a home directory has
// it among the temporary files: CI systems start containers with any user id, and no HOME.
func (o Options) Dir() (string, error) {
	for _, dir := range []string{o.StateDir, os.Getenv("BATCHCTL_STATE_DIR")} {
		if dir != "" {
			return filepath.Abs(dir)
		}
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "batchctl"), nil
	}
	home, err := homeDirectory()
	if dir := temporaryDir(); err != nil && dir != "" {
		return dir, nil
	}
	if err != nil {
		return "", exit.Fail(exit.NotDone, "find the state directory: %v", err).
			Try("set HOME, or choose a directory: --state-dir DIRECTORY")
	}
	return filepath.Abs(filepath.Join(home, ".local", "state", "batchctl")) // the engine runs elsewhere
}

// temporaryDir is the state directory of a user without a home directory; "" if the system has no user ids. Its name
// is the same in every command of the user, so that they share the ledger.
func temporaryDir() string {
	dir, err := filepath.Abs(os.TempDir())
	if uid := os.Getuid(); err == nil && uid >= 0 {
		return filepath.Join(dir, "batchctl-"+strconv.Itoa(uid))
	}
	return ""
}

// homeDirectory returns HOME, or the directory in the user's passwd entry, as the AWS SDK and
// shells do: services and cron start programs without HOME.
func homeDirectory() (string, error) {
	home, err := os.UserHomeDir()
	if err == nil {
		return home, nil
	}
	u, lookup := user.Current()
	if lookup != nil || u.HomeDir == "" {
		return "", err
	}
	return u.HomeDir, nil
}

// openLocal connects to the engine of the state directory. If none runs, the need decides what
// happens.
func openLocal(ctx context.Context, con *term.Console, t *Target, dir string, entry document.Target,
	choice ExecutorChoice, why Need) error {
	t.Label = Local
	connection, err := local.Connect(dir)
	if err == nil && why != ToRead && choice.runs {
		connection, err = upgrade(ctx, con, connection, dir, choice)
	}
	if err == nil {
		return connect(con, t, connection, dir, choice)
	}
	if _, failed := errors.AsType[*exit.Failure](err); failed {
		return err
	}
	options := EngineOptions(dir, entry, choice)
	if why == ToRead {
		options.ReadOnly = true
		err := openEngine(ctx, con, t, options, Executor{}, false)
		if err == nil && t.Engine != nil {
			printUnknown(con, t)
		}
		return err
	}
	if err := CanRun(); err != nil {
		return err
	}
	// Do not write into a directory that cannot be opened or that others can change.
	if _, refused := errors.AsType[*fs.PathError](err); refused {
		return exit.Fail(exit.NotDone, "%v", err).Try("name another one: --state-dir DIRECTORY")
	}
	x, err := OpenExecutor(ctx, dir, choice)
	if err != nil {
		return err
	}
	if why == ToRun {
		return openEngine(ctx, con, t, options, x, true)
	}
	connection, err = startEngine(ctx, con, dir, BackgroundArguments(dir, entry, x.ExecutorChoice))
	if err != nil {
		return err
	}
	return connect(con, t, connection, dir, choice)
}

// CanRun returns an error if no engine can run on this operating system.
func CanRun() error {
	if err := local.Supported(); err != nil {
		return exit.Fail(exit.NotDone, "%v", err).Try("on Windows, use WSL, or a target on AWS: --target NAME")
	}
	return nil
}

// connect uses the engine of another process, if it has the requested executor.
func connect(con *term.Console, t *Target, connection local.Connection, dir string, choice ExecutorChoice) (err error) {
	if t.Executor, err = joined(dir, choice); err != nil {
		return err
	}
	t.Config = noticing(con, dir, local.WithSecrets(connection.Config(), t.secrets))
	t.provider = newProvider(dir, choice, t.secrets, true)
	t.Client = once.New(t.Config)
	t.Label = fmt.Sprintf("local (engine at %s)", connection.Endpoint)
	return nil
}

// EngineOptions returns the options for the local engine of a state directory.
func EngineOptions(dir string, entry document.Target, choice ExecutorChoice) local.Options {
	o := local.Options{
		Dir:       dir,
		VCPUs:     entry.VCPUs,
		MemoryMiB: entry.MemoryMiB,
		Program:   shippedWorkloads(),
		Check:     checkRequest,
		Build:     buildinfo.Own(),
		Command:   startedBy(),

		ProcessesForBatchctlOnly: choice.onlyOwnProcesses(),
	}
	for i := range entry.GPUs {
		o.GPUs = append(o.GPUs, fmt.Sprintf("%d", i))
	}
	return o
}

// shippedWorkloads returns the argv prefix that runs a shipped workload: batchctl-workloads if it
// is beside this program, because it can use GPUs, else this program.
func shippedWorkloads() []string {
	if path, err := os.Executable(); err == nil {
		workloads := filepath.Join(filepath.Dir(path), "batchctl-workloads")
		if info, err := os.Stat(workloads); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return []string{workloads}
		}
	}
	return []string{self(), "workload", "run"}
}

// openEngine runs the engine in this process. With serve, other processes can use it: `status` in
// another terminal works during a `run`.
func openEngine(ctx context.Context, con *term.Console, t *Target, o local.Options, x Executor, serve bool) error {
	o.Executor = x.Executor
	engine, err := local.Open(o)
	var locked *local.LockedError
	if errors.As(err, &locked) {
		return openAfter(ctx, con, t, o, x, locked)
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "open the local engine: %v", err)
	}
	t.Config = noticing(con, o.Dir, local.WithSecrets(engine.Config(), t.secrets))
	t.provider = newProvider(o.Dir, x.ExecutorChoice, t.secrets, false)
	t.Engine, t.Client = engine, once.New(t.Config)
	stop := func() error { return nil }
	if serve {
		t.Executor = x.Label
		if err := x.Keep(o.Dir); err != nil {
			return errors.Join(exit.Fail(exit.NotDone, "record the engine's executor: %v", err), engine.Close(ctx))
		}
		if stop, err = serveLoopback(engine); err != nil {
			return err
		}
	}
	t.Close = func() error {
		closing, cancel := context.WithTimeout(context.Background(), CloseTimeout)
		defer cancel()
		ended := drain(ctx, con, t, closing)
		return errors.Join(ended, stop(), engine.Close(closing))
	}
	return nil
}

// printUnknown prints that no engine is running, so that the status of unfinished jobs is unknown,
// and what to do.
func printUnknown(con *term.Console, t *Target) {
	id, jobs, since := t.Engine.Unknown()
	if jobs == 0 {
		return
	}
	fmt.Fprintf(con.Err, "the status of %s is unknown since %s: the engine is not running\n", text.Count(jobs, "job"),
		since.Format(time.RFC3339))
	fmt.Fprintf(con.Err, "  start an engine, which retries or fails %s: batchctl wait %s%s\n", itOrThem(jobs),
		batch.ShortID(id), t.Flags)
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// openAfter opens the engine of another process that did not answer a moment ago: it answers now,
// or it is about to end.
func openAfter(ctx context.Context, con *term.Console, t *Target, o local.Options, x Executor,
	locked *local.LockedError) error {
	if connection, err := joinEngine(ctx, o.Dir); err == nil {
		return connect(con, t, connection, o.Dir, x.ExecutorChoice)
	}
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if local.WaitClosed(wait, o.Dir) == nil {
		return openEngine(ctx, con, t, o, x, true)
	}
	return exit.Fail(exit.NotDone, "the state directory %s is in use by process %d, which does not answer", o.Dir,
		locked.PID).
		Try("stop that process, or use another directory: --state-dir DIRECTORY")
}

// drain waits until other commands no longer use the engine of this process. When ctx ends first,
// it ends their jobs, which must not start again with the next engine.
func drain(ctx context.Context, con *term.Console, t *Target, closing context.Context) error {
	at := time.AfterFunc(time.Second, func() { printOthers(closing, con, t) })
	defer at.Stop()
	if t.Engine.Drain(ctx) == nil {
		return nil
	}
	return EndJobs(closing, t.Engine)
}

// printOthers prints what the engine of this process is waiting for.
func printOthers(ctx context.Context, con *term.Console, t *Target) {
	names, err := t.Unfinished(ctx)
	if err != nil || len(names) == 0 {
		fmt.Fprintln(con.Err, "waiting for other batchctl commands that use this engine (Ctrl-C stops waiting)")
		return
	}
	fmt.Fprintf(con.Err, "waiting for %s on this engine: %s (Ctrl-C stops waiting and ends them)\n",
		text.Count(len(names), "other job"), diag.Printable(SomeOf(names)))
}

// noticing prints the notices in the engine's answers, each once. That the image is not used is printed once per state
// directory.
func noticing(con *term.Console, dir string, cfg aws.Config) aws.Config {
	cfg.HTTPClient = &noticer{HTTPClient: cfg.HTTPClient, dir: dir, printed: map[string]bool{}, err: con.Err}
	return cfg
}

// imageUnused is the notice of a job that runs as a process and has no other member without effect.
const imageUnused = "the command runs as a process on this machine, where these have no effect: image"

// noticer is an HTTP client that prints the notices of the engine.
type noticer struct {
	aws.HTTPClient
	dir     string // of the state
	mu      sync.Mutex
	printed map[string]bool
	err     io.Writer
}

func (n *noticer) Do(r *http.Request) (*http.Response, error) {
	answer, err := n.HTTPClient.Do(r)
	if err != nil {
		return answer, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if text := call.Notice(answer.Header); text != "" && !n.printed[text] {
		n.printed[text] = true
		if text == imageUnused && !firstNote(n.dir, text) {
			return answer, nil
		}
		fmt.Fprintf(n.err, "note: %s\n", diag.Printable(text))
	}
	return answer, nil
}

// self returns the path to start this program again. On Linux it works even when the file is
// deleted, as after `go run`.
func self() string {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			return "/proc/self/exe"
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// LedgerIn returns the ledger of a state directory. It prints damaged lines, once per file.
func LedgerIn(con *term.Console, dir string) *once.Ledger {
	printed := map[string]bool{}
	return &once.Ledger{Dir: dir, Damaged: func(d *once.DamageError) {
		if !printed[d.Path] {
			printed[d.Path] = true
			fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(d.Error()))
		}
	}}
}

// SubmitsWith sets the client's options for this command.
func SubmitsWith(con *term.Console, o Options, to *once.Client) {
	to.Settle = o.Settle
	var mu sync.Mutex
	to.Progress = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(con.Err, "%s\n", diag.Printable(con.Redacted(text)))
	}
}
