package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// policySharePattern matches a share identifier of a policy, and the empty text and a
// single *, which cover all identifiers.
var policySharePattern = lazy(`^[A-Za-z0-9_-]{0,255}\*?$`)

// shares is the path from a scheduling policy to its shares.
const shares = "fairsharePolicy.shareDistribution"

// sharingRules returns the rules about CreateSchedulingPolicy requests. A fair-share
// policy divides a queue among identifiers; each job of the queue names one of them.
func sharingRules() []*Rule {
	return []*Rule{
		row("scheduling-policy-name-charset", High, in(policies, "name"), like(namePattern, nameCharset, ""),
			"A scheduling policy's name contains only letters, digits, hyphens and underscores.",
			tried("CreateSchedulingPolicy.name")),
		row("scheduling-policy-name-length", High, in(policies, "name"), chars(1, 128),
			"A scheduling policy's name is 1 to 128 characters long.", tried("CreateSchedulingPolicy.name")),
		// The shares of a fair-share policy.
		row("share-identifier-pattern", High, in(policies, shares+"[].shareIdentifier"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Is(jsontree.String) && (n.Text == "" || !policySharePattern().MatchString(n.Text)) {
					s.Report("a share identifier must be up to 255 "+nameCharset+
						", optionally with one * at the end, not "+
						quote(n.Text), "", n)
				}
			}, "A share identifier consists of letters, digits, hyphens and underscores. An asterisk at the end covers all identifiers with that prefix.", tried("ShareAttributes.shareIdentifier")),
		row("sp-reservation-range", High, in(policies, "fairsharePolicy.computeReservation"), between(0, 99),
			"computeReservation is 0 to 99 percent.", api("FairsharePolicy.computeReservation")),
		row("sp-decay-range", High, in(policies, "fairsharePolicy.shareDecaySeconds"), between(0, 604800),
			"shareDecaySeconds is 0 to 604800 seconds (a week).", api("FairsharePolicy.shareDecaySeconds")),
		row("sp-weight-range", High, in(policies, shares+"[].weightFactor"), between(0.0001, 999.9999),
			"A weight is 0.0001 to 999.9999. A share with a lower weight gets more capacity.",
			tried("ShareAttributes.weightFactor")),
		row("sp-identifier-required", High, in(policies, shares+"[]"), needs(`shareIdentifier: "teamA"`),
			"A share needs an identifier.", api("ShareAttributes.shareIdentifier")),
		row("sp-distribution-max-500", High, in(policies, shares), atMost(500,
			"use identifiers that end in * to cover many shares"),
			"A policy lists at most 500 shares.", tried("FairsharePolicy.shareDistribution")),
		row("sp-identifier-duplicate", Medium, in(policies, shares), distinct("shareIdentifier", "remove one of them"),
			"A policy lists each share once.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("sp-identifier-overlap", High, policies, func(s Site) {
			// Identifiers are few, so each is compared with all before it.
			var list []*jsontree.Node
			path(shares+"[].shareIdentifier").walk(s.Node, func(n *jsontree.Node) { list = append(list, n) })
			for i, n := range list {
				for _, before := range list[:i] {
					if n.Str() != before.Str() && (covers(n.Str(), before.Str()) || covers(before.Str(), n.Str())) {
						s.Report(fmt.Sprintf("%s and %s overlap", quote(before.Str()), quote(n.Str())),
							"remove one of them, or choose another prefix", n)
						break
					}
				}
			}
		}, "An identifier that ends in * covers all identifiers with that prefix. No other share of the policy can have that prefix.", tried("ShareAttributes.shareIdentifier")),
		// Quota shares are for SageMaker training jobs.
		row("sp-fairshare-xor-quota", High, in(policies, ""), exclusive("fairsharePolicy", "quotaSharePolicy"),
			"A policy has fairsharePolicy or quotaSharePolicy, not both.",
			tried("CreateSchedulingPolicy.quotaSharePolicy")),
		row("sp-quota-strategy", High, in(policies, "quotaSharePolicy"), func(s Site, n *jsontree.Node, label string) {
			needs(`idleResourceAssignmentStrategy: "FIFO"`)(s, n, label)
			oneOf("FIFO")(s, orNothing(n.Get("idleResourceAssignmentStrategy")), "idleResourceAssignmentStrategy")
		}, "A quota policy needs idleResourceAssignmentStrategy. The only value is FIFO.",
			tried("QuotaSharePolicy.idleResourceAssignmentStrategy")),
	}
}

// covers reports whether the identifier ends in * and covers the other.
func covers(identifier, other string) bool {
	prefix, star := strings.CutSuffix(identifier, "*")
	return star && strings.HasPrefix(strings.TrimSuffix(other, "*"), prefix)
}
