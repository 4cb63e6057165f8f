package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

const (
	// The paths from an environment to its launch template and to its choice of images.
	template  = "computeResources.launchTemplate"
	imageConf = "computeResources.ec2Configuration"
)

var (
	// The types of images that AWS Batch offers (API reference,
	// Ec2Configuration.imageType). No rule reports the older ECS_AL1.
	ecsImages   = []string{"ECS_AL2023", "ECS_AL2023_NVIDIA", "ECS_AL2", "ECS_AL2_NVIDIA"}
	eksImages   = []string{"EKS_AL2023", "EKS_AL2023_NVIDIA", "EKS_AL2", "EKS_AL2_NVIDIA"}
	olderImages = []string{"ECS_AL1"}
	// kubernetes is a minor version, the form that Amazon EKS uses.
	kubernetes = lazy(`^1\.[0-9]{2}$`)
)

// launchTemplateRules returns the rules about the launch template and the images of an
// environment on instances.
func launchTemplateRules() []*Rule {
	return []*Rule{
		row("ce-lt-id-xor-name", High, in(environments, template, template+".overrides[]"), checkTemplateNamed,
			"A launch template is given by id or by name, not both.", tried("LaunchTemplateSpecification")),
		row("ce-lt-version", High, in(environments, template+".version", template+".overrides[].version"),
			checkTemplateVersion,
			"A version is a number, $Default or $Latest.", tried("LaunchTemplateSpecification.version")),
		row("ce-lt-overrides-max-10", High, in(environments, template+".overrides"), atMost(10, ""),
			"A launch template has at most 10 overrides.", tried("LaunchTemplateSpecification.overrides")),
		row("ce-lt-override-targets-required", High, in(environments, template+".overrides[]"), checkOverrideTargets,
			"An override needs targetInstanceTypes.", tried("LaunchTemplateSpecificationOverride.targetInstanceTypes")),
		row("ce-lt-override-targets-subset", High, in(environments, template+".overrides[].targetInstanceTypes[]"),
			checkOverrideTargetsKnown,
			"An override targets types or families from the instanceTypes of the environment.",
			tried("LaunchTemplateSpecificationOverride.targetInstanceTypes")),
		row("ce-lt-override-targets-overlap", High, in(environments, template), checkOverrideOverlap,
			"Only one override can target an instance type, directly or by its family.",
			tried("LaunchTemplateSpecificationOverride.targetInstanceTypes")),
		row("ce-userdatatype-enum", High, in(environments, template+".userdataType",
			template+".overrides[].userdataType"), oneOf("EKS_BOOTSTRAP_SH", "EKS_NODEADM"),
			"userdataType is a format for the user data of EKS nodes.", api("UserdataType")),
		row("ce-userdatatype-al2023", Low, in(environmentsOnEKS, template, template+".overrides[]"), checkNodeStart,
			"If you build your own image from EKS_AL2023 or EKS_AL2023_NVIDIA, userdataType must be EKS_NODEADM. With the default, EKS_BOOTSTRAP_SH, the node does "+
				"not join its cluster.", api("LaunchTemplateSpecification.userdataType")),
		row("ce-userdatatype-eks-only", Low,
			in(where(environments, func(s Site) bool { return s.Node.Get("eksConfiguration") == nil }),
				template+".userdataType", template+".overrides[].userdataType"),
			absent("is documented for environments on EKS only", ""),
			"userdataType describes the user data of Amazon EKS nodes, so it does not apply to an environment on Amazon ECS.", api("LaunchTemplateSpecification.userdataType")),
		// The images of instances. A launch template may name its own.
		row("ce-ec2config-1-or-2", Medium, in(environments, imageConf), checkImageChoices,
			"ec2Configuration has one or two entries: for GPU instances and for others.",
			api("ComputeResource.ec2Configuration")),
		row("ce-imagetype-required", High, in(environments, imageConf+"[]"), checkImageTypeRequired,
			"An entry of ec2Configuration needs an imageType.", api("Ec2Configuration.imageType")),
		row("ce-imagetype-known", High, in(environments, imageConf+"[].imageType"), checkImageTypeKnown,
			"imageType is a type of image that AWS Batch offers. A name with other numbers may be newer, so it is only a warning.", tried("Ec2Configuration.imageType")).
			sometimesWarns(),
		row("ce-imagetype-platform", High, in(environments, imageConf+"[].imageType"), checkImageTypePlatform,
			"An environment on ECS needs images for ECS, and an environment on EKS needs images for EKS.",
			tried("Ec2Configuration.imageType")),
		row("ce-imagetype-al2-eol", High, in(environments, imageConf+"[].imageType"), checkAmazonLinux2,
			"AWS Batch rejects its own images of Amazon Linux 2: for EKS since 2025-11-26, for ECS since 2026-06-30. With an image of yours, imageType names the system of that image, so it is only a warning.", tried("Ec2Configuration.imageType")).
			sometimesWarns(),
		check("ce-al2023-no-a1", Medium, onInstances, func(s Site) {
			checkFamilies(s, false, "AL2023", "Amazon Linux 2023", "a1")
		}, "Amazon Linux 2023 does not run on A1 instances.", api("Ec2Configuration.imageType")).
			quoting("Amazon Linux 2023 does not support A1 instances."),
		check("ce-al2023-nvidia-no-p3-g3", Medium, onInstances, func(s Site) {
			checkFamilies(s, true, "ECS_AL2023_NVIDIA", "ECS_AL2023_NVIDIA", "p3", "p3dn", "g3", "g3s")
		}, "The driver of ECS_AL2023_NVIDIA does not support the GPUs of p3 and g3.",
			api("Ec2Configuration.imageType")).
			quoting("ECS_AL2023_NVIDIA doesn't support p3 and g3 instance types."),
		warns(check("ce-p5-no-p2-g2", Medium, onInstances, checkOldGPUsBesideP5,
			"The image that p5 needs does not run on p2 and g2.", guide("compute resource AMIs"))),
		row("ce-imageidoverride-length", High, in(environments, imageConf+"[].imageIdOverride",
			imageConf+"[].imageKubernetesVersion"), chars(1, 256),
			"imageIdOverride and imageKubernetesVersion are 1 to 256 characters long.", api("Ec2Configuration")),
		row("ce-k8s-version-eks-only", Low, in(environments, imageConf+"[].imageKubernetesVersion"),
			checkKubernetesVersion,
			"imageKubernetesVersion is for environments on EKS only.", api("Ec2Configuration.imageKubernetesVersion")),
	}
}

// checkTemplateNamed reports a launch template with both an id and a name, or with
// neither. An entry that only has overrides needs neither.
func checkTemplateNamed(s Site, n *jsontree.Node, label string) {
	exclusive("launchTemplateId", "launchTemplateName")(s, n, label)
	if n.Is(jsontree.Object) && s.lacks(n, "launchTemplateId") && s.lacks(n, "launchTemplateName") &&
		n.Get("overrides").Len() == 0 {
		s.Report("a launch template needs an id or a name", `add "launchTemplateName": "..."`, n)
	}
}

// checkTemplateVersion reports a version that is neither a number nor one of the two
// words. An empty version means $Default.
func checkTemplateVersion(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.String) && !versionForm().MatchString(n.Text) && !strings.ContainsAny(n.Text, "{<") {
		if strings.HasPrefix(n.Text, "$") && near(n.Text, []string{"$Latest", "$Default"}) == "" &&
			!strings.EqualFold(n.Text, "$latest") && !strings.EqualFold(n.Text, "$default") {
			return // a placeholder
		}
		hint, fix := "", (*diag.Fix)(nil)
		if near := near(n.Text, []string{"$Latest", "$Default"}); near != "" || strings.EqualFold(n.Text, "latest") ||
			strings.EqualFold(n.Text, "default") {
			if near == "" {
				near = "$" + strings.ToUpper(n.Text[:1]) + strings.ToLower(n.Text[1:])
			}
			hint, fix = "write "+quote(near), replace(n, near)
		}
		s.ReportFix(fix, "the version of a launch template must be a number, $Default or $Latest, not "+quote(n.Text),
			hint, n)
	}
}

// checkOverrideTargets reports an override without targetInstanceTypes.
func checkOverrideTargets(s Site, n *jsontree.Node, _ string) {
	if t := n.Get("targetInstanceTypes"); n.Is(jsontree.Object) && t.Len() == 0 &&
		(t != nil || s.lacks(n, "targetInstanceTypes")) {
		s.Report("an override needs targetInstanceTypes", `add "targetInstanceTypes": ["..."]`, t, n)
	}
}

// checkOverrideTargetsKnown reports a target that the environment does not launch. A
// bundle in instanceTypes covers the types that the catalogue lists for it.
func checkOverrideTargetsKnown(s Site, n *jsontree.Node, _ string) {
	entries := entriesOf(s.Node.Get(resourcesOf).Get("instanceTypes"))
	switch {
	case n.Str() == "" || isPlaceholder(n.Str()):
	case isBundle(n.Str()):
		s.Report("an override must target types or families, not the bundle "+n.Str(), "list the families", n)
	case len(entries) > 0 && !slices.ContainsFunc(entries, func(e string) bool {
		return e == n.Str() || e == familyOf(n.Str()) || isBundle(e) &&
			len(s.pass.instanceTypes().Expand(n.Str())) > 0 && s.pass.instanceTypes().within(n.Str(), e)
	}):
		s.Report(fmt.Sprintf("%s is not among the instanceTypes of the environment", quote(n.Str())),
			"add it there, or remove it here", n)
	}
}

// checkOverrideOverlap reports a target that an override above has, as a type or as the
// family of a type.
func checkOverrideOverlap(s Site, n *jsontree.Node, _ string) {
	seen := map[string]bool{}
	families := map[string]bool{}
	path("overrides[].targetInstanceTypes[]").walk(n, func(t *jsontree.Node) {
		target, family := t.Str(), familyOf(t.Str())
		if target != "" && (seen[target] || target != family && seen[family] || target == family && families[target]) {
			s.Report(fmt.Sprintf("an entry above already targets %s", quote(target)), "remove one of them", t)
		}
		seen[target], families[family] = true, true
	})
}

// checkImageChoices reports a list of images that is empty or has more than two entries.
func checkImageChoices(s Site, n *jsontree.Node, label string) {
	filled(`add { "imageType": "ECS_AL2023" }, or remove it`)(s, n, label)
	atMost(2, "keep one for GPU instances and one for the others")(s, n, label)
}

// checkImageTypeRequired reports an absent imageType, and one of an invalid length.
func checkImageTypeRequired(s Site, n *jsontree.Node, label string) {
	needs(`imageType: "ECS_AL2023"`)(s, n, label)
	chars(1, 256)(s, orNothing(n.Get("imageType")), "imageType")
}

// checkImageTypeKnown reports an unknown imageType. A name without its prefix "ECS_" is
// completed.
func checkImageTypeKnown(s Site, n *jsontree.Node, label string) {
	if n.Str() == "" || slices.Contains(olderImages, n.Str()) {
		return
	}
	if near := "ECS_" + n.Str(); slices.Contains(ecsImages, near) {
		s.ReportFix(replace(n, near), "imageType must be "+text.Or(ecsImages[:2])+", not "+quote(n.Str()),
			"write "+quote(near), n)
		return
	}
	growing(slices.Concat(ecsImages, eksImages))(s, n, label)
}

// checkImageTypePlatform reports an image for ECS in an environment on EKS, and the
// reverse.
func checkImageTypePlatform(s Site, n *jsontree.Node, _ string) {
	orchestration := environment{s}.orchestration()
	prefix := orchestration + "_"
	other := map[string]string{"ECS_": "EKS_", "EKS_": "ECS_"}[prefix]
	if rest, ok := strings.CutPrefix(n.Str(), other); ok {
		s.ReportFix(replace(n, prefix+rest), fmt.Sprintf("an environment on %s needs images of type %s, not %s",
			orchestration, prefix+"...", quote(n.Str())), "write "+quote(prefix+rest), n)
	}
}

// checkAmazonLinux2 reports images of Amazon Linux 2, which has reached its end of life. AWS Batch rejects only those
// that it provides: for an image of yours, which a launch template can also name, imageType has to match the image.
func checkAmazonLinux2(s Site, n *jsontree.Node, _ string) {
	switch n.Str() {
	case "ECS_AL2", "ECS_AL2_NVIDIA", "EKS_AL2", "EKS_AL2_NVIDIA":
		resources := s.Node.Get(resourcesOf)
		own := resources.Get("imageId") != nil || resources.Get("launchTemplate") != nil
		for choice := range resources.Get("ec2Configuration").Children() {
			own = own || choice.Get("imageType") == n && choice.Get("imageIdOverride") != nil
		}
		if own {
			s.reportAs(diag.Warning, nil, "Amazon Linux 2 is no longer supported: AWS Batch rejects "+n.Str()+
				" for new environments, unless the image is your own", "use an image of Amazon Linux 2023", n)
			return
		}
		better := strings.Replace(n.Str(), "_AL2", "_AL2023", 1)
		s.ReportFix(replace(n, better), "Amazon Linux 2 is no longer supported: AWS Batch rejects "+n.Str()+
			" for new environments", "write "+quote(better), n)
	}
}

// checkOldGPUsBesideP5 reports p2 and g2 instances in an environment with p5.
func checkOldGPUsBesideP5(s Site) {
	list := s.Node.Get(resourcesOf).Get("instanceTypes")
	entries := entriesOf(list)
	if p5 := hasFamily(entries, "p5", "p5e", "p5en"); p5 != "" {
		for n := range list.Children() {
			if f := familyOf(n.Str()); f == "p2" || f == "g2" {
				s.Report(fmt.Sprintf("no image runs both %s and %s", p5, n.Str()),
					"create a separate environment for each", n)
			}
		}
	}
}

// checkKubernetesVersion reports a version of Kubernetes in an environment on ECS, and one
// of an invalid form.
func checkKubernetesVersion(s Site, n *jsontree.Node, label string) {
	if s.Node.Get("eksConfiguration") == nil {
		absent("is for environments on EKS", "")(s, n, label)
		return
	}
	if n.Str() != "" {
		like(kubernetes, "a version of Kubernetes such as 1.31", "")(s, n, label)
	}
}

// checkFamilies reports the first instance type of families that an image does not run.
// Of two image choices, one is for instances with GPUs and one for the others. The
// families are either all with GPUs or all without.
func checkFamilies(s Site, gpu bool, imageType, name string, families ...string) {
	c := s.Node.Get(resourcesOf)
	some := false
	for _, cfg := range each(c, "ec2Configuration") {
		t := cfg.Get("imageType").Str()
		if strings.HasSuffix(t, "_NVIDIA") != gpu {
			continue
		}
		if some = true; !strings.Contains(t, imageType) {
			return
		}
	}
	if !some {
		return
	}
	for n := range c.Get("instanceTypes").Children() {
		if slices.Contains(families, familyOf(n.Str())) {
			s.Report(fmt.Sprintf("%s does not run on %s", name, n.Str()), "choose another type, or another image", n)
			return
		}
	}
}

// checkNodeStart reports a launch template, or an override of one, whose user data starts
// nodes of Amazon Linux 2, for an own image of Amazon Linux 2023.
func checkNodeStart(s Site, n *jsontree.Node, label string) {
	kind := n.Get("userdataType")
	if !n.Is(jsontree.Object) || kind.Str() == "EKS_NODEADM" || kind != nil && kind.Str() != "EKS_BOOTSTRAP_SH" {
		return
	}
	resources := s.Node.Get("computeResources")
	for _, c := range each(resources, "ec2Configuration") {
		image := c.Get("imageType").Str()
		if !strings.HasPrefix(image, "EKS_AL2023") || c.Get("imageIdOverride") == nil &&
			resources.Get("imageId") == nil {
			continue
		}
		if kind != nil {
			s.ReportFix(replace(kind, "EKS_NODEADM"),
				fmt.Sprintf("nodes of %s start with EKS_NODEADM, not EKS_BOOTSTRAP_SH", image), `write "EKS_NODEADM"`,
				kind)
		} else if s.lacks(n, "userdataType") {
			const kind = `"userdataType": "EKS_NODEADM"`
			s.ReportFix(s.insert(n, kind),
				fmt.Sprintf("nodes of %s start with EKS_NODEADM, and the default is EKS_BOOTSTRAP_SH", image),
				"add "+kind, n)
		}
		return
	}
}
