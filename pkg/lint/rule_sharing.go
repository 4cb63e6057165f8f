package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

var policySharePattern = lazy(`^[A-Za-z0-9_-]{0,255}\*?$`)

const shares = "fairsharePolicy.shareDistribution"

func sharingRules() []*Rule {
	return []*Rule{
		row("scheduling-policy-name-charset", High, in(policies, "name"), like(namePattern, nameCharset, ""),
			"A scheduling policy's name holds letters, digits, hyphens and underscores only.", tried("CreateSchedulingPolicy.name")),
		row("scheduling-policy-name-length", High, in(policies, "name"), chars(1, 128),
			"A scheduling policy's name is 1 to 128 characters long.", tried("CreateSchedulingPolicy.name")),
		row("share-identifier-pattern", High, in(policies, shares+"[].shareIdentifier"), func(s Site, n *jsontree.Node, _ string) {
			if n.Is(jsontree.String) && (n.Text == "" || !policySharePattern().MatchString(n.Text)) {
				s.Report("a share identifier is up to 255 "+nameCharset+", with one * at the end if need be, not "+quote(n.Text), "", n)
			}
		}, "A share is named by letters, digits, hyphens and underscores; an asterisk at the end stands for all that begin so.", tried("ShareAttributes.shareIdentifier")),
		row("sp-reservation-range", High, in(policies, "fairsharePolicy.computeReservation"), between(0, 99),
			"computeReservation is 0 to 99 percent.", api("FairsharePolicy.computeReservation")),
		row("sp-decay-range", High, in(policies, "fairsharePolicy.shareDecaySeconds"), between(0, 604800),
			"What was used is remembered for up to a week: 0 to 604800 seconds.", api("FairsharePolicy.shareDecaySeconds")),
		row("sp-weight-range", High, in(policies, shares+"[].weightFactor"), between(0.0001, 999.9999),
			"A weight is 0.0001 to 999.9999; a lower one gets more.", tried("ShareAttributes.weightFactor")),
		row("sp-identifier-required", High, in(policies, shares+"[]"), needs(`shareIdentifier: "teamA"`),
			"A share has an identifier.", api("ShareAttributes.shareIdentifier")),
		row("sp-distribution-max-500", High, in(policies, shares), atMost(500, "identifiers that end in * stand for many"),
			"A policy lists at most 500 shares.", tried("FairsharePolicy.shareDistribution")),
		row("sp-identifier-duplicate", Medium, in(policies, shares), distinct("shareIdentifier", "remove one of them"),
			"A policy lists each share once.", "answered so by the service in 2026-09 (cdk-preflight)"),
		check("sp-identifier-overlap", High, policies, func(s Site) {
			var list []*jsontree.Node
			path(shares+"[].shareIdentifier").walk(s.Node, func(n *jsontree.Node) { list = append(list, n) })
			for i, n := range list {
				for _, before := range list[:i] {
					if n.Str() != before.Str() && (covers(n.Str(), before.Str()) || covers(before.Str(), n.Str())) {
						s.Report(fmt.Sprintf("%s and %s stand for the same shares", quote(before.Str()), quote(n.Str())), "remove one of them, or choose another prefix", n)
						break
					}
				}
			}
		}, "An identifier that ends in * covers all that begin so; another share of the policy must not be among them.", tried("ShareAttributes.shareIdentifier")),
		row("sp-fairshare-xor-quota", High, in(policies, ""), exclusive("fairsharePolicy", "quotaSharePolicy"),
			"A policy shares by fairness or by quota.", tried("CreateSchedulingPolicy.quotaSharePolicy")),
		row("sp-quota-strategy", High, in(policies, "quotaSharePolicy"), func(s Site, n *jsontree.Node, label string) {
			needs(`idleResourceAssignmentStrategy: "FIFO"`)(s, n, label)
			oneOf("FIFO")(s, orNothing(n.Get("idleResourceAssignmentStrategy")), "idleResourceAssignmentStrategy")
		}, "A quota policy says who gets idle resources; FIFO is the only way.", tried("QuotaSharePolicy.idleResourceAssignmentStrategy")),
	}
}

// covers reports whether the identifier, if it ends in *, stands for the other.
func covers(identifier, other string) bool {
	prefix, star := strings.CutSuffix(identifier, "*")
	return star && strings.HasPrefix(strings.TrimSuffix(other, "*"), prefix)
}
