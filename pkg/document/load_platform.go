package document

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// newPlatform decodes a platform file whose members are of the right types.
func newPlatform(root *jsontree.Node) (*Platform, diag.List) {
	var found problems
	p := &Platform{Root: root, DefaultTarget: root.Get("defaultTarget").Str(), Defaults: root.Get("defaults"),
		CatalogFile: root.Get("catalog").Str(), PricesFile: root.Get("prices").Str()}
	for m := range root.Get("targets").Children() {
		p.Targets = append(p.Targets, readTarget(&found, m))
	}
	for m := range root.Get("queues").Children() {
		p.Queues = append(p.Queues, readQueue(m))
	}
	for m := range root.Get("teams").Children() {
		p.Teams = append(p.Teams, Team{m.Name, m})
	}
	for m := range root.Get("templates").Children() {
		p.Templates = append(p.Templates, readTemplate(&found, m))
	}
	p.Policy = readPolicy(&found, root.Get("policy"))
	checkDefaultTarget(&found, p)
	if p.Defaults != nil {
		found.diags = append(found.diags,
			checkDefaults(p.Defaults, strings.Contains(root.Source.Text, referenceMark))...)
	}
	return p, found.diags
}

// readTarget reads a target of a platform file. Numbers that are absent are 0.
func readTarget(found *problems, m *jsontree.Node) Target {
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
			found.report(RuleBadValue, staging, staging.Span, `write an S3 URL such as "s3://bucket/prefix"`,
				"invalid S3 location %q", clip(staging.Str()))
		}
	}
	if memory := m.Get("memory"); memory != nil {
		t.MemoryMiB = max(0, int(readSize(found, memory)))
	}
	return t
}

// readQueue reads a queue of a platform file. Its alias is the name of the member.
func readQueue(m *jsontree.Node) Queue {
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

// checkDefaultTarget reports a default target that does not exist. "aws" means the credentials
// and Region of the environment.
func checkDefaultTarget(found *problems, p *Platform) {
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
	found.report(RuleBadValue, n, n.Span, "write "+text.Or(quoteAll(known)), "no such target: %s",
		strconv.Quote(clip(name)))
}

// readPolicy reads the policy of a platform file. It reports limits that would allow no job.
func readPolicy(found *problems, m *jsontree.Node) Policy {
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
			found.report(RuleBadValue, tag, tag.Span, "",
				"no job can have the tag %q: a key is not empty, and aws: is reserved", tag.Text)
		}
	}
	if longest := m.Get("maxTimeout"); longest != nil {
		d := readDuration(found, longest)
		if d >= 0 && d < catalog.MinTimeout {
			found.report(RuleBadValue, longest, longest.Span, "leave it out for no limit",
				"maxTimeout of %d seconds would allow no job: a timeout is at least %d", d, catalog.MinTimeout)
		}
		p.MaxTimeout = max(0, int(d))
	}
	if most := m.Get("maxGpus"); most != nil {
		gpus := whole(most)
		p.MaxGPUs = &gpus
	}
	if most := m.Get("maxMemory"); most != nil {
		mib := readSize(found, most)
		if mib == 0 {
			found.report(RuleBadValue, most, most.Span, "leave it out for no limit",
				"maxMemory of 0 would allow no job")
		}
		p.MaxMemoryMiB = max(0, int(mib))
	}
	return p
}

// readTemplate reads a template of a platform file. It does not read the source.
func readTemplate(found *problems, m *jsontree.Node) Template {
	t := Template{Name: m.Name, Description: m.Get("description").Str(), Source: m.Get("source").Str(), Node: m}
	if source := m.Get("source"); source.Is(jsontree.String) && (t.Source == "" || strings.HasPrefix(t.Source, "-")) {
		// git would read it as an option.
		found.report(RuleBadValue, source, source.Span, `write a path such as "templates/train.json", or a URL`,
			"invalid source %q", clip(t.Source))
	}
	for p := range m.Get("parameters").Children() {
		t.Parameters = append(t.Parameters, readParameter(found, p))
	}
	return t
}

// readParameter reads a parameter of a template, and checks its default and its allowed values.
func readParameter(found *problems, m *jsontree.Node) TemplateParameter {
	p := TemplateParameter{Name: m.Name, Description: m.Get("description").
		Str(), Default: m.Get("default"), Pattern: m.Get("pattern").Str(), Node: m}
	p.Allowed = slices.Collect(m.Get("allowedValues").Children())
	p.Type = m.Get("type").Str()
	if p.Type == "" {
		p.Type = typeOfValues(append([]*jsontree.Node{p.Default}, p.Allowed...))
	}
	if !isParameterName(m.Name) {
		found.report(RuleBadValue, m, m.Key, "use letters, digits, _ and -, and begin with a letter",
			"no placeholder can name the parameter %q", clip(m.Name))
	}
	if _, err := p.compiled(); err != nil {
		n := m.Get("pattern")
		found.report(RuleBadValue, n, n.Span, "write a regular expression of RE2", "invalid pattern: %v", err)
		return p
	}
	for _, value := range p.Allowed {
		if err := p.fits(value); err != nil {
			found.report(RuleBadValue, value, value.Span,
				"change the value, or the type or the pattern of the parameter", "%v", err)
		}
	}
	if p.Default != nil {
		if err := errors.Join(p.fits(p.Default), p.isAllowed(p.Default)); err != nil {
			found.report(RuleBadValue, p.Default, p.Default.Span,
				"change the default, or the other members of the parameter", "%s", firstLine(err))
		}
	}
	return p
}

// firstLine returns the first of several errors.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
