package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// imageRules returns the rules about image references. AWS Batch checks their characters
// and length, but does not check that an image exists.
func imageRules() []*Rule {
	return []*Rule{
		over("image-charset", Medium, images.of, checkImageChars,
			"An image reference contains letters, digits and - _ : . / # @ only. AWS Batch rejects a space or a shell character.",
			api("ContainerProperties.image")),
		over("image-length", Medium, images.of, checkImageLength,
			"An image reference is at most 255 characters long.", api("ContainerProperties.image")),
		over("image-empty", High, images.of, checkImageEmpty,
			"The image reference is empty, so the job cannot run.", tried("ContainerProperties.image")),
		warns(over(plan.RuleNoBatchctl, Medium, images.of, checkPublicImage,
			"Inputs, outputs, a checkpoint, measure or the launcher of an array start the job's command through batchctl, so the image must contain it. Public images "+
				"of Docker Hub, Amazon ECR Public, Microsoft and NVIDIA do not, so the job fails with \"executable file not found\". batchctl recognizes them by their names, and does not look into the image. "+
				"It has no effect on jobs that run as local processes.", ourStaging)),
		warns(rule("image-ecr-account", High, checkRegistryAccounts,
			"A private registry of Amazon ECR is named by an account of 12 digits. An image of another name does not exist, so the job fails.",
			"Amazon ECR User Guide, Private registries")),
		accountRule(),
		warns(over("image-latest", High, images.of, checkLatest,
			"An image without a tag, or with the tag latest, can change at any time. Two runs of the same file may then run different programs.",
			"practice; a platform file can make it an error with policy.denyLatestTag")),
	}
}

// checkImageChars reports the first character that an image reference cannot contain.
func checkImageChars(i Image) {
	bad := strings.IndexFunc(i.Image.Str(), func(r rune) bool {
		return !nameRune(r) && !strings.ContainsRune(":./#@", r)
	})
	if bad >= 0 {
		r, _ := utf8.DecodeRuneInString(i.Image.Str()[bad:])
		i.Site.Report(fmt.Sprintf("an image reference can contain only letters, digits and - _ : . / # @, not %q", r),
			"", i.Image)
	}
}

// checkImageLength reports an image reference that is too long.
func checkImageLength(i Image) {
	if n := utf8.RuneCountInString(i.Image.Str()); n > catalog.MaxImageLength {
		i.Site.Report(fmt.Sprintf("an image reference can have at most %d characters, and this one has %d",
			catalog.MaxImageLength, n), "", i.Image)
	}
}

// checkImageEmpty reports an image reference without text.
func checkImageEmpty(i Image) {
	if i.Image.Is(jsontree.String) && i.Image.Str() == "" {
		i.Site.Report("the image is empty", `write an image such as "public.ecr.aws/docker/library/busybox:1.37"`,
			i.Image)
	}
}

// checkRegistryAccounts reports private registries whose account does not have 12 digits.
func checkRegistryAccounts(p *Pass) {
	for i := range p.imagesThatRun() {
		account, _, isECR := strings.Cut(i.Image.Str(), ".dkr.ecr")
		if isECR && isWrongAccount(account) {
			i.Site.Report(fmt.Sprintf("an AWS account has 12 digits, and the registry's %s has %d", account,
				len(account)), "copy the account from the repository's URI", i.Image)
		}
	}
}

// checkLatest reports images whose tag can move, unless policy-latest-tag reports them as errors.
func checkLatest(i Image) {
	if !i.Site.pass.policy().DenyLatestTag {
		reportLatest(i)
	}
}

// isWrongAccount reports whether a text has only digits, but not the 12 of an account.
func isWrongAccount(text string) bool {
	return text != "" && len(text) != 12 && strings.Trim(text, "0123456789") == ""
}

// accountRule is the rule for accounts in ARNs of members without a rule about their form.
func accountRule() *Rule {
	members := []selector{
		in(containers, "secrets[].valueFrom", "logConfiguration.secretOptions[].valueFrom",
			"repositoryCredentials.credentialsParameter"),
		in(environments, "serviceRole", resourcesOf+".instanceRole", resourcesOf+".spotIamFleetRole"),
		in(queues, "computeEnvironmentOrder[].computeEnvironment"),
		in(jobs, "consumableResourceProperties.consumableResourceList[].consumableResource",
			"consumableResourcePropertiesOverride.consumableResourceList[].consumableResource"),
	}
	var all []path
	for i := range members {
		all = append(all, members[i].paths...)
	}
	return warns(rule("arn-account", High, func(p *Pass) {
		for i := range members {
			members[i].check(p, members[i].scope(p), checkAccount)
		}
	}, "An account in an ARN has 12 digits. AWS has no resource in another account.",
		"AWS Account Management Reference Guide, account identifiers")).onlyWith(all...)
}

// checkAccount reports an ARN whose account does not have 12 digits.
func checkAccount(s Site, n *jsontree.Node, label string) {
	account := batch.Account(n.Str())
	if batch.IsARN(n.Str()) && isWrongAccount(account) {
		s.Report(fmt.Sprintf("an AWS account has 12 digits, and %s in %s has %d", account, label, len(account)),
			"copy the ARN from the resource", n)
	}
}
