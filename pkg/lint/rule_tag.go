package lint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// tag is a tag with the job or request that it belongs to.
type tag struct {
	Job
	node *jsontree.Node
}

// tags holds every tag of every request, once if both requests of a job have it.
var tags = newFact(func(p *Pass, old []tag) []tag {
	all := old[:0]
	for _, j := range p.jobs {
		registered := j.Register.Get("tags")
		for t := range registered.Children() {
			all = append(all, tag{j, t})
		}
		for t := range j.Submit.Get("tags").Children() {
			if !sameLocation(t, registered.Get(t.Name)) {
				all = append(all, tag{j, t})
			}
		}
	}
	for _, s := range created(p) {
		for _, list := range [...]*jsontree.Node{s.Node.Get("tags"), s.Node.Get(resourcesOf).Get("tags")} {
			for t := range list.Children() {
				all = append(all, tag{s.Job, t})
			}
		}
	}
	return all
})

// created returns the requests that create something other than a job.
func created(p *Pass) []Site {
	return allSites.of(p).requests
}

// tagSource is the page with the limits of tags.
const tagSource = userGuide + ", tag restrictions"

// isTag reports whether a text contains only letters, digits and spaces of any script,
// and + - = . _ : / @.
func isTag(text string) bool {
	for _, r := range text {
		if !nameRune(r) && !strings.ContainsRune("+=. :/@", r) && (r < utf8.RuneSelf ||
			!unicode.In(r, unicode.L, unicode.N, unicode.Z)) {
			return false
		}
	}
	return true
}

// tagRules returns the rules about tags of all requests, and about the one tag that
// batchctl itself reads.
func tagRules() []*Rule {
	return []*Rule{
		row("tags-min-1", Low, in(creates, "tags"), filled("remove it"),
			"A map of tags contains at least one tag.", api("TagrisTagsMap")),
		over("tag-charset", Low, tags.of, checkTagCharset,
			"Tags contain only letters, digits, spaces and + - = . _ : / @.", tagSource).onlyWith("tags"),
		row("tags-max-50", High, in(where(creates, isNoEnvironment), "tags"), once("tags", checkTagCount),
			"A job definition, a job, a queue, a scheduling policy or a consumable resource has at most 50 tags.",
			api("RegisterJobDefinition.tags")+"; "+tagSource),
		over("tag-key-length", High, tags.of, checkTagKeyLength,
			"The key of a tag is 1 to 128 characters long.", api("TagKey")+"; "+tagSource).onlyWith("tags"),
		over("tag-value-length", High, tags.of, checkTagValueLength,
			"The value of a tag is at most 256 characters long.", api("TagValue")+"; "+tagSource).onlyWith("tags"),
		warns(over("tag-aws-prefix", Medium, tags.of, checkTagPrefix,
			"AWS reserves keys and values of tags that start with aws:, in upper or lower case. EC2 rejects such a key, but no published answer shows that AWS Batch does.",
			tagSource+"; the error of EC2 quoted in jcjorel/ec2-spot-converter#13")).onlyWith("tags"),
		over("executor-tag-known", High, tags.of, checkExecutorTag,
			"The tag "+executorTag+
				" selects how the local engine runs a job: as a process, in a container of docker or podman, or of whichever of the two works. AWS Batch treats it like any other tag.",
			"pkg/local, ExecutorTag").onlyWith("tags"),
	}
}

// executorTag is local.ExecutorTag; a test of pkg/cli compares the two, and their values.
const executorTag = "batchctl:executor"

// hasAWSPrefix reports whether a text starts with aws: in any case.
func hasAWSPrefix(s string) bool {
	return len(s) >= len("aws:") && strings.EqualFold(s[:len("aws:")], "aws:")
}

// checkTagCharset reports characters that tags cannot contain.
func checkTagCharset(t tag) {
	const most = "letters, digits, spaces and + - = . _ : / @"
	if !isTag(t.node.Name) {
		t.Report(fmt.Sprintf("the key of a tag contains only %s, not %s", most, quote(t.node.Name)), "", key(t.node))
	}
	if !isTag(t.node.Str()) {
		t.Report(fmt.Sprintf("the value of a tag contains only %s, not %s", most, quote(t.node.Str())), "", t.node)
	}
}

// isNoEnvironment leaves out compute environments, whose tags have a rule of their own.
func isNoEnvironment(s Site) bool { return s.Node.Get("computeEnvironmentName") == nil }

// checkTagCount reports the first tag beyond the limit of a resource.
func checkTagCount(s Site, tags *jsontree.Node, _ string) {
	if n := tags.Len(); n > catalog.MaxTags {
		// The first tag beyond the limit is marked; without it, the whole map.
		last := tags
		i := 0
		for t := range tags.Children() {
			if i++; i == catalog.MaxTags+1 {
				last = key(t)
			}
		}
		s.Report(fmt.Sprintf("there are %[2]d tags, and the limit is %[1]d", catalog.MaxTags, n), "", last)
	}
}

// checkTagKeyLength reports a key that is empty or too long.
func checkTagKeyLength(t tag) {
	if n := utf8.RuneCountInString(t.node.Name); n < 1 || n > catalog.MaxTagKeyLength {
		t.Report(fmt.Sprintf("the key of a tag must be 1 to %d characters long, not %d", catalog.MaxTagKeyLength, n),
			"", key(t.node))
	}
}

// checkTagValueLength reports a value that is too long.
func checkTagValueLength(t tag) {
	if n := utf8.RuneCountInString(t.node.Str()); n > catalog.MaxTagValueLength {
		t.Report(fmt.Sprintf("the value of a tag must be at most %d characters long, not %d",
			catalog.MaxTagValueLength, n), "", t.node)
	}
}

// checkTagPrefix reports keys and values with the prefix of AWS.
func checkTagPrefix(t tag) {
	if hasAWSPrefix(t.node.Name) {
		t.Report(fmt.Sprintf("tag key %s: keys that start with aws: are reserved", quote(t.node.Name)),
			"use a key such as "+quote(t.node.Name[len("aws:"):]), key(t.node))
	}
	if hasAWSPrefix(t.node.Str()) {
		t.Report(fmt.Sprintf("tag value %s: values that start with aws: are reserved", quote(t.node.Str())), "",
			t.node)
	}
}

// checkExecutorTag reports an executor that does not exist.
func checkExecutorTag(t tag) {
	if t.node.Name == executorTag {
		reportEnum(t.Job, t.node, "tag "+executorTag, "process", "docker", "podman", "container")
	}
}
