package document

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// PlatformFile is the name of a platform file. batchctl finds it by this name.
const PlatformFile = "batchctl.json"

// LocalTarget is the name of the engine on this machine, which needs no entry.
const LocalTarget = "local"

// FindPlatform searches for the platform file in dir and in its parents, up to the root.
func FindPlatform(dir string) (path string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		path = filepath.Join(dir, PlatformFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// newPlatform decodes a platform file whose members are of the right types.
func newPlatform(root *jsontree.Node) (*Platform, diag.List) {
	l := &lowering{job: root}
	p := &Platform{Root: root, DefaultTarget: root.Get("defaultTarget").Str(), Defaults: root.Get("defaults"),
		CatalogFile: root.Get("catalog").Str(), PricesFile: root.Get("prices").Str()}
	for m := range root.Get("targets").Children() {
		p.Targets = append(p.Targets, l.target(m))
	}
	for m := range root.Get("queues").Children() {
		p.Queues = append(p.Queues, queue(m))
	}
	for m := range root.Get("teams").Children() {
		p.Teams = append(p.Teams, Team{m.Name, m})
	}
	for m := range root.Get("templates").Children() {
		p.Templates = append(p.Templates, l.template(m))
	}
	p.Policy = l.policy(root.Get("policy"))
	l.defaultTarget(p)
	if p.Defaults != nil {
		// Every job reads these units again. This reports mistakes even without a job.
		defaults := &lowering{job: p.Defaults}
		defaults.container()
		defaults.timeout()
		defaults.measure(&Job{})
		if p.Defaults.Get("array") == nil && strings.Contains(root.Source.Text, referenceMark) {
			r := &referring{}
			r.misplaced(p.Defaults, "defaults apply to every job, and a child's values belong to one")
			defaults.diags = append(defaults.diags, r.diags...)
		}
		l.diags = append(l.diags, defaults.diags...)
	}
	return p, l.diags
}

// ReadCatalog reads the instance types of the file that the platform file names; path is
// the path of the platform file. It does nothing if the platform file names no such file.
// The error is a sentence without the name of the file.
func (p *Platform) ReadCatalog(path string) (err error) {
	if p == nil || p.CatalogFile == "" {
		return nil
	}
	if err := Regular(p.CatalogPath(path)); err != nil {
		return err
	}
	p.Catalog, err = catalog.ReadFile(p.CatalogPath(path))
	return err
}

// Regular rejects a path that is not a regular file. The document may come from a stranger,
// and opening a pipe would block until another process writes to it.
func Regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return cause(err)
	}
	return regular(info)
}

// CatalogPath returns the path of CatalogFile; path is that of the platform file.
func (p *Platform) CatalogPath(path string) string { return siblingPath(path, p.CatalogFile) }

// PricesPath returns the path of PricesFile; path is that of the platform file.
func (p *Platform) PricesPath(path string) string { return siblingPath(path, p.PricesFile) }

// target reads a target of a platform file. Numbers that are absent are 0.
func (l *lowering) target(m *jsontree.Node) Target {
	t := Target{
		Name:     m.Name,
		Region:   m.Get("region").Str(),
		Profile:  m.Get("profile").Str(),
		Endpoint: m.Get("endpoint").Str(),
		RoleARN:  m.Get("roleArn").Str(), AccountID: m.Get("accountId").Str(),
		Node: m,
	}
	t.VCPUs, _ = strconv.ParseFloat(numberText(m.Get("vcpus")), 64)
	t.GPUs = whole(m.Get("gpus"))
	t.Executor = m.Get("executor").Str()
	if staging := m.Get("staging"); staging != nil {
		var ok bool
		if t.Staging, ok = s3Location(staging.Str(), false); !ok {
			l.report(RuleBadValue, staging, staging.Span, `write an S3 URL such as "s3://bucket/prefix"`, "invalid S3 location %q", clip(staging.Str()))
		}
	}
	if memory := m.Get("memory"); memory != nil {
		t.MemoryMiB = max(0, int(l.size(memory)))
	}
	return t
}

// queue reads a queue of a platform file. Its alias is the name of the member.
func queue(m *jsontree.Node) Queue {
	q := Queue{Alias: m.Name, Name: m.Get("jobQueue").Str(), Node: m}
	for e := range m.Get("computeEnvironments").Children() {
		q.Environments = append(q.Environments, Environment{
			Name:          e.Get("computeEnvironment").Str(),
			Type:          e.Get("type").Str(),
			InstanceTypes: texts(e.Get("instanceTypes")),
			MaxvCpus:      whole(e.Get("maxvCpus")),
			Node:          e,
		})
	}
	return q
}

// defaultTarget reports a default target that does not exist. "aws" means the credentials
// and Region of the environment.
func (l *lowering) defaultTarget(p *Platform) {
	name := p.DefaultTarget
	if _, ok := p.Target(name); ok || name == "" || name == LocalTarget || name == "aws" {
		return
	}
	known := []string{LocalTarget}
	for _, t := range p.Targets {
		if t.Name != LocalTarget {
			known = append(known, t.Name)
		}
	}
	n := p.Root.Get("defaultTarget")
	l.report(RuleBadValue, n, n.Span, "write "+either(quoteAll(known)), "no such target: %s", strconv.Quote(clip(name)))
}
