package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/secret"
)

func secretRules() []*Rule {
	return []*Rule{
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
