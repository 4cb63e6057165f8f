package document

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

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

// policy reads the policy of a platform file. It reports limits that would allow no job.
func (l *lowering) policy(m *jsontree.Node) Policy {
	p := Policy{
		Owner:         m.Get("owner").Str(),
		Waiver:        m.Get("waiver").Str(),
		RequiredTags:  texts(m.Get("requiredTags")),
		AllowedImages: texts(m.Get("allowedImages")),
		DenyLatestTag: m.Get("denyLatestTag").Is(jsontree.Bool) && m.Get("denyLatestTag").Text == "true",
		MaxAttempts:   whole(m.Get("maxAttempts")),

		AllowedQueues:         texts(m.Get("allowedQueues")),
		AllowedJobRoles:       texts(m.Get("allowedJobRoles")),
		AllowedExecutionRoles: texts(m.Get("allowedExecutionRoles")),

		MaxvCpus:     number(numberText(m.Get("maxvCpus"))),
		MaxArraySize: whole(m.Get("maxArraySize")),
		Node:         m,
	}
	for tag := range m.Get("requiredTags").Children() {
		if tag.Is(jsontree.String) && (tag.Text == "" || strings.HasPrefix(strings.ToLower(tag.Text), "aws:")) {
			l.report(RuleBadValue, tag, tag.Span, "", "no job can have the tag %q: a key is not empty, and aws: is reserved", tag.Text)
		}
	}
	if longest := m.Get("maxTimeout"); longest != nil {
		d := l.duration(longest)
		if d >= 0 && d < catalog.MinTimeout {
			l.report(RuleBadValue, longest, longest.Span, "leave it out for no limit",
				"maxTimeout of %d seconds would allow no job: a timeout is at least %d", d, catalog.MinTimeout)
		}
		p.MaxTimeout = max(0, int(d))
	}
	if most := m.Get("maxGpus"); most != nil {
		gpus := whole(most)
		p.MaxGPUs = &gpus
	}
	if most := m.Get("maxMemory"); most != nil {
		mib := l.size(most)
		if mib == 0 {
			l.report(RuleBadValue, most, most.Span, "leave it out for no limit", "maxMemory of 0 would allow no job")
		}
		p.MaxMemoryMiB = max(0, int(mib))
	}
	return p
}

// template reads a template of a platform file. It does not read the source.
func (l *lowering) template(m *jsontree.Node) Template {
	t := Template{Name: m.Name, Description: m.Get("description").Str(), Source: m.Get("source").Str(), Node: m}
	if source := m.Get("source"); source.Is(jsontree.String) && (t.Source == "" || strings.HasPrefix(t.Source, "-")) {
		// git would read it as an option.
		l.report(RuleBadValue, source, source.Span, `write a path such as "templates/train.json", or a URL`, "invalid source %q", clip(t.Source))
	}
	for p := range m.Get("parameters").Children() {
		t.Parameters = append(t.Parameters, l.templateParameter(p))
	}
	return t
}

// templateParameter reads a parameter of a template, and checks its default and its allowed values.
func (l *lowering) templateParameter(m *jsontree.Node) TemplateParameter {
	p := TemplateParameter{Name: m.Name, Description: m.Get("description").Str(), Default: m.Get("default"), Pattern: m.Get("pattern").Str(), Node: m}
	p.Allowed = slices.Collect(m.Get("allowedValues").Children())
	p.Type = m.Get("type").Str()
	if p.Type == "" {
		p.Type = typeOfValues(append([]*jsontree.Node{p.Default}, p.Allowed...))
	}
	if !isParameterName(m.Name) {
		l.report(RuleBadValue, m, m.Key, "use letters, digits, _ and -, and begin with a letter", "no placeholder can name the parameter %q", clip(m.Name))
	}
	if _, err := p.compiled(); err != nil {
		n := m.Get("pattern")
		l.report(RuleBadValue, n, n.Span, "write a regular expression of RE2", "invalid pattern: %v", err)
		return p
	}
	for _, value := range p.Allowed {
		if err := p.fits(value); err != nil {
			l.report(RuleBadValue, value, value.Span, "change the value, or the type or the pattern of the parameter", "%v", err)
		}
	}
	if p.Default != nil {
		if err := errors.Join(p.fits(p.Default), p.isAllowed(p.Default)); err != nil {
			l.report(RuleBadValue, p.Default, p.Default.Span, "change the default, or the other members of the parameter", "%s", firstLine(err))
		}
	}
	return p
}

// firstLine returns the first of several errors.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
