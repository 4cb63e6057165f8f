package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/spec"
)

func secretRules() []*Rule {
	return []*Rule{
		cellSecretRule(),
		warns(check("env-secret", High, environmentHolders, func(s Site) {
			for _, list := range [...]string{"environment", "env"} {
				for e := range each(s.Node, list) {
					name, value := e.Get("name").Str(), e.Get("value")
					if what := secret.Kind(name, value.Str()); what != "" {
						s.Report(fmt.Sprintf("%s looks like %s, and everybody who can describe the job can read it", quote(name), what), s.secretHint(name, list), value)
					}
				}
			}
		}, "A credential in a plain variable stands in the console, in describe-jobs and in every copy of the file. Found by the formats of known keys, and by names such as DB_PASSWORD with a value that is no placeholder. A warning, since AWS Batch takes it.",
			guide("specifying sensitive data"))),
	}
}

func cellSecretRule() *Rule {
	return &Rule{
		Name: "array-secret", Severity: diag.Warning, Confidence: High,
		Doc:    "A credential among the values of a matrix or a table. They stand in the variables of the job, which everybody who can describe it can read, or at the target's staging place.",
		Source: ourArrays,
		Run: func(p *Pass) {
			for _, j := range p.Submits() {
				if j.Sweep != nil {
					j.cellSecrets()
				}
			}
		},
	}
}

// maxSecretRows bounds the rows of a table that are searched for credentials.
const maxSecretRows = 1000

func (j Job) cellSecrets() {
	report := func(what, column string, n *jsontree.Node) {
		j.Report(fmt.Sprintf("a value of %s looks like %s, and everybody who can describe the job can read it", quote(column), what),
			"put the credentials into Secrets Manager, and let the program choose one by the child's value", n)
	}
	for axis := range j.Array.Get("matrix").Children() {
		for v := range axis.Children() {
			if what := secret.Kind(axis.Name, v.Text); what != "" {
				report(what, axis.Name, v)
			}
		}
	}
	rows := j.Sweep.Rows[:min(len(j.Sweep.Rows), maxSecretRows)]
	for c, column := range j.Sweep.Names {
		for _, row := range rows {
			if what := secret.Kind(column, row[c]); what != "" {
				report(what, column, spec.ArraySource(j.Array))
				break
			}
		}
	}
}

// environmentHolders is all that has plain variables.
func environmentHolders(p *Pass) []Site {
	return slices.Concat(requirers(p), podParts(p))
}

func (s Site) secretHint(name, list string) string {
	const store = "put it into Secrets Manager and write "
	switch {
	case list == "env":
		return "put it into a secret of Kubernetes and mount that as a volume"
	case s.compact():
		return store + fmt.Sprintf(`"secrets": { %q: "arn:aws:secretsmanager:<region>:<account>:secret:<name>" }`, name)
	case s.Task == nil:
		return store + "secrets in the job definition; an override has none"
	}
	return store + fmt.Sprintf(`"secrets": [ { "name": %q, "valueFrom": "arn:aws:secretsmanager:<region>:<account>:secret:<name>" } ]`, name)
}
