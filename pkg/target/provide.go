package target

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/plan"
)

// OpenSecrets opens the source of --secrets-from; nil for "".
func OpenSecrets(flag string) (*secretsource.Source, error) {
	source, err := secretsource.Open(flag)
	switch {
	case errors.Is(err, secretsource.ErrUsage):
		return nil, exit.Usage("invalid --secrets-from %q", flag).Try("use env, file:PATH, or file for the file %s",
			secretsource.DefaultFile)
	case err != nil:
		return nil, exit.Fail(exit.NotDone, "--secrets-from: %v", err)
	}
	return source, nil
}

// Provider knows what the local engine can provide to jobs.
type Provider struct {
	// executor is the engine's own, options those of its containers.
	executor string
	options  container.Options
	source   *secretsource.Source
	// unknown means that the engine has secrets of its own, which this process does not know.
	unknown bool
}

// newProvider returns the provider of the engine that serves dir, or that would be started there.
func newProvider(dir string, choice ExecutorChoice, source *secretsource.Source, running bool) *Provider {
	p := &Provider{executor: choice.name, source: source,
		options: container.Options{Dir: dir, AllowPrivileged: choice.privileged, AllowMounts: choice.mounts}}
	if !running {
		return p
	}
	label, flags := recorded(dir)
	p.executor, _, _ = strings.Cut(label, " ")
	p.options.AllowMounts, p.options.AllowPrivileged = nil, slices.Contains(flags, "--allow-privileged")
	for i, flag := range flags {
		p.unknown = p.unknown || flag == secretsFrom
		if flag == "--allow-mount" && i+1 < len(flags) {
			p.options.AllowMounts = append(p.options.AllowMounts, flags[i+1])
		}
	}
	return p
}

// LocalProvider returns the provider of the local engine for a command that does not open it.
func LocalProvider(o Options, platform *document.Platform) (*Provider, error) {
	var entry document.Target
	if platform != nil {
		entry, _ = platform.Target(Local)
	}
	choice, err := o.Executor.Choose(entry)
	if err != nil {
		return nil, err
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	_, err = local.Connect(dir)
	return newProvider(dir, choice, nil, err == nil), nil
}

// StartsImage reports whether the job's image decides what runs: an executor of containers starts it.
func (p *Provider) StartsImage(j *plan.Job) bool {
	return p != nil && j.Register != nil && j.Submit != nil && cmp.Or(attempt.ChosenIn(j.Register, j.Submit),
		p.executor, container.Process) != container.Process
}

// Lacking returns why the local engine could not start a job, as far as this process knows. It is
// empty for a job that only names its definition.
func (p *Provider) Lacking(j *plan.Job) []string {
	d := j.Register
	if p == nil || d == nil || j.Submit == nil || (&model.Definition{Request: d}).Platform() == model.PlatformEKS {
		return nil
	}
	x := p.executorOf(attempt.ChosenIn(d, j.Submit))
	if x == nil {
		return nil
	}
	var problems []string
	add := func(members []attempt.Member) {
		for _, m := range members {
			if m.Effect == attempt.Prevents && !slices.Contains(problems, m.Why) {
				problems = append(problems, m.Why)
			}
		}
	}
	var containers []*types.ContainerProperties
	switch parts := model.Parts(d, j.Submit); {
	case len(parts) > 0:
		for _, task := range model.Tasks(parts) {
			add(attempt.UnhonouredTask(task, attempt.Contained(x)))
		}
		for i := range parts {
			containers = append(containers, parts[i].Container)
		}
	case d.ContainerProperties != nil:
		containers = append(containers, d.ContainerProperties)
	}
	for _, c := range containers {
		add(x.Unhonoured(c))
		for _, s := range attempt.SecretsOf(c) {
			if why := p.lacksSecret(s); why != "" && !slices.Contains(problems, why) {
				problems = append(problems, why)
			}
		}
	}
	return problems
}

// lacksSecret returns why a secret has no value; "" if it has one, or if that is unknown.
func (p *Provider) lacksSecret(s types.Secret) string {
	name := aws.ToString(s.Name)
	switch {
	case p.unknown:
		return ""
	case p.source == nil:
		return fmt.Sprintf("secret %s has no value on this machine; give it one with --secrets-from env or --secrets-from file:PATH", name)
	}
	if _, err := p.source.Lookup(secretsource.Key{Name: name, ValueFrom: aws.ToString(s.ValueFrom)}); err != nil {
		return fmt.Sprintf("secret %s has no value: %v", name, err)
	}
	return ""
}

// executorOf returns the executor that a job would run with; nil if it is not available.
func (p *Provider) executorOf(chosen string) attempt.Executor {
	name := cmp.Or(chosen, p.executor, container.Process)
	if name == container.Process {
		return process.New(shippedWorkloads(), "")
	}
	o := p.options
	o.Program = name
	if x, err := container.Unopened(o); err == nil {
		return x
	}
	return nil
}

// Lacking returns why the target could not start a job. Only the local engine has reasons.
func (t *Target) Lacking(j *plan.Job) []string { return t.provider.Lacking(j) }

// secretsFrom is the flag that names the engine's own source of secrets.
const secretsFrom = "--secrets-from"

// recorded returns the label of the executor of the engine that holds dir, and its flags.
func recorded(dir string) (label string, flags []string) {
	text, err := os.ReadFile(filepath.Join(dir, executorFile))
	if err != nil {
		text = []byte(container.Process + "\n--executor\n" + container.Process + "\n") // an engine of an older version
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return lines[0], lines[1:]
}
