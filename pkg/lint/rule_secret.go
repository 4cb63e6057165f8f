package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/secret"
)

// secretRules returns the rules about credentials in documents. Package secret recognises
// them; messages never contain their text.
func secretRules() []*Rule {
	return []*Rule{
		warns(over("array-secret", High, (*Pass).Submits, checkCellSecrets,
			"A matrix or a table contains a credential. Its values are in the job's variables, which anyone who can describe the job can read, or at the target's staging location.",
			ourArrays)),
		warns(check("env-secret", High, environmentHolders, func(s Site) {
			if clean := cleanSources.of(s.pass); clean.has(s.Node.Source) {
				return
			}
			for _, list := range [...]string{"environment", "env"} {
				for _, e := range each(s.Node, list) {
					name, value := e.Get("name").Str(), e.Get("value")
					for _, c := range secret.Find(name, value.Str()) {
						s.Report(fmt.Sprintf("%s looks like %s (%s), and anyone who can describe the job can read it",
							quote(name), c.What, c.Sure()), secretHint(s, name, list), value)
						break
					}
				}
			}
		}, "A credential in a plain variable is visible in the console, in describe-jobs and in every copy of the file. The rule recognises the formats of known keys, and names such as DB_PASSWORD unless the value is a placeholder. It is a warning, because AWS Batch "+
			"accepts the job.",
			guide("specifying sensitive data"))),
		warns(rule("job-secret", High, checkJobSecrets,
			"There is a credential outside the environment: in an argument or script of the command, in a parameter, an override, a tag or an option. DescribeJobs "+
				"shows all of these. The rule works like env-secret, and also recognises --password, PASSWORD= and Authorization: in front of a credential.",
			guide("specifying sensitive data"))),
	}
}

// checkJobSecrets searches the text of each job, and of its requests.
func checkJobSecrets(p *Pass) {
	w := secretWalk{clean: cleanSources.of(p)}
	// A job of a workflow has two requests, with most of their text in common.
	var last *jsontree.Node
	for _, s := range creates(p) {
		w.site = s
		if job := s.Job.Node; job != last { // a job has a site for each request
			w.searched = nil
			w.walk(job)
			last = job
		}
		if s.Node != s.Job.Node {
			w.searched = s.Job.Node
			w.walk(s.Node) // the defaults of a workflow as well
		}
	}
}

// secretWalk searches a job's text for credentials outside the environment.
type secretWalk struct {
	site Site
	// searched is a node whose text has been searched; a request that is built from it
	// shares most of its text.
	searched *jsontree.Node
	clean    *sourceSet
	// seen keeps what two requests share from being reported twice.
	seen map[credentialLocation]bool
}

// credentialLocation is where a credential starts. An array job, for example, has it in one
// place of the file and in two requests.
type credentialLocation struct {
	source *diag.Source
	start  int
}

// cleanSources tells the files that hold no credential. Strings of YAML are never clean, since they can be
// split over lines.
var cleanSources = sourcesThat(func(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && !secret.MayHold(text)
})

// sourceSet is the set of files whose text passes a test. It tests each file once.
type sourceSet struct {
	test  func(text string) bool
	last  *diag.Source // most passes have one file
	clean bool
	known map[*diag.Source]bool // the files before the last
}

// sourcesThat holds the files whose text passes a test.
func sourcesThat(test func(text string) bool) *fact[*sourceSet] {
	return newFact(func(_ *Pass, old *sourceSet) *sourceSet {
		if old == nil {
			old = &sourceSet{}
		}
		*old = sourceSet{test: test}
		return old
	})
}

// has reports whether a file is in the set.
func (s *sourceSet) has(src *diag.Source) bool {
	if src == s.last && src != nil {
		return s.clean
	}
	return s.find(src)
}

// find is has for a file that is not the last one.
func (s *sourceSet) find(src *diag.Source) bool {
	clean, ok := s.known[src]
	switch {
	case src == nil:
		return false
	case ok:
		return clean
	case s.last != nil:
		if s.known == nil {
			s.known = map[*diag.Source]bool{}
		}
		s.known[s.last] = s.clean
	}
	s.last, s.clean = src, s.test(src.Text)
	return s.clean
}

// isSearched reports whether a node is in a text that has been searched.
func (w *secretWalk) isSearched(n *jsontree.Node) bool {
	if w.clean.has(n.Source) {
		return true
	}
	in := w.searched
	return in != nil && n.Source == in.Source && n.Span.Start >= in.Span.Start && n.Span.End <= in.Span.End
}

// hasOwnRule reports whether another rule searches a member, or no rule has to:
// array-secret searches a matrix, and secrets only names values that are stored elsewhere.
func hasOwnRule(member string) bool {
	switch member {
	case "environment", "env", "secrets", "secretOptions", "matrix", "userData", "$comment", "$schema", "waivers":
		return true
	}
	return false
}

// walk searches an object or an array, and ignores any other value.
func (w *secretWalk) walk(n *jsontree.Node) {
	switch {
	case n.Is(jsontree.Object):
		w.members(n)
	case n.Is(jsontree.Array):
		w.command(n)
	}
}

// members searches the members of an object. In an entry such as {"name": "X", "value":
// "Y"}, the name that matters for the value is X.
func (w *secretWalk) members(n *jsontree.Node) {
	var key, value *jsontree.Node // of an entry such as {"name": "X", "value": "Y"}
	for m := range n.Children() {
		text, name := m.Is(jsontree.String), m.Name
		switch name {
		// Variables, parameters of templates and tags have their names here.
		case "name", "key", "Key":
			if text {
				key = m
			}
			name = "" // the entry's own name counts
		case "value", "Value":
			if text && value == nil {
				value = m
				continue
			}
			name = ""
		}
		switch {
		case hasOwnRule(m.Name):
		case text:
			w.value(name, m.Name, m)
		default:
			w.walk(m)
		}
	}
	switch {
	case key != nil && value != nil:
		w.value(key.Str(), key.Str(), value)
	case value != nil:
		w.value("", value.Name, value)
	}
}

// command searches an array as the words of a command.
func (w *secretWalk) command(n *jsontree.Node) {
	count, searched := 0, true
	for c := range n.Children() {
		if !c.Is(jsontree.String) {
			w.walk(c)
			continue
		}
		count++
		searched = searched && w.isSearched(c)
	}
	if searched {
		return
	}
	args, nodes := make([]string, 0, count), make([]*jsontree.Node, 0, count)
	for c := range n.Children() {
		if c.Is(jsontree.String) {
			args, nodes = append(args, c.Str()), append(nodes, c)
		}
	}
	for _, found := range secret.FindArgs(args) {
		w.report("an element of "+quote(n.Name), found.Credential, nodes[found.Index])
	}
}

// value searches the value of that name; title is the name that a message shows.
func (w *secretWalk) value(name, title string, n *jsontree.Node) {
	if w.isSearched(n) {
		return
	}
	for _, c := range secret.Find(name, n.Str()) {
		w.report(quote(title), c, n)
	}
}

// report reports a credential once for each location. The subject names the member without
// its value.
func (w *secretWalk) report(subject string, c secret.Credential, n *jsontree.Node) {
	src, span := n.Location()
	at := credentialLocation{src, span.Start}
	if w.seen[at] {
		return
	}
	if w.seen == nil {
		w.seen = map[credentialLocation]bool{}
	}
	w.seen[at] = true
	w.site.Report(fmt.Sprintf("%s looks like %s (%s), and anyone who can describe the job can read it", subject, c.What,
		c.Sure()),
		"store it in Secrets Manager, add it to \"secrets\", and read that variable in the program or its shell", n)
}

// maxSecretRows bounds the rows of a table that are searched for credentials.
const maxSecretRows = 1000

// checkCellSecrets reports each axis or column of an array with a credential, once for each value of a
// matrix and once for each column of a table.
func checkCellSecrets(j Job) {
	if j.Sweep == nil {
		return
	}
	report := func(c secret.Credential, column string, n *jsontree.Node) {
		j.Report(fmt.Sprintf("a value of %s looks like %s (%s), and anyone who can describe the job can read it",
			quote(column), c.What, c.Sure()),
			"store the credentials in Secrets Manager, and let the program select one by the child's value", n)
	}
	for axis := range j.Array.Get("matrix").Children() {
		for v := range axis.Children() {
			for _, c := range secret.Find(axis.Name, v.Text) {
				report(c, axis.Name, v)
				break
			}
		}
	}
	rows := j.Sweep.Rows[:min(len(j.Sweep.Rows), maxSecretRows)]
	for c, column := range j.Sweep.Names {
		for _, row := range rows {
			if found := secret.Find(column, row[c]); len(found) > 0 {
				report(found[0], column, document.ArraySource(j.Array))
				break
			}
		}
	}
}

// environmentHolders returns everything that has plain variables.
func environmentHolders(p *Pass) []Site { return allSites.of(p).withVariables }

// secretHint says where to store the value of a variable, in the form of the file. Pods
// have no secrets member, and neither have overrides.
func secretHint(s Site, name, list string) string {
	const store = "store it in Secrets Manager and write "
	switch {
	case list == "env":
		return "store it in a Kubernetes secret and mount that as a volume"
	case s.compact():
		return store + fmt.Sprintf(`"secrets": { %q: "arn:aws:secretsmanager:<region>:<account>:secret:<name>" }`, name)
	case s.Task == nil:
		return store + "\"secrets\" in the job definition; overrides have no secrets"
	}
	return store + fmt.Sprintf(`"secrets": [ { "name": %q, "valueFrom": "arn:aws:secretsmanager:<region>:<account>:secret:<name>" } ]`, name)
}
