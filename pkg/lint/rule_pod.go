package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

const subdomainWords = "lower-case letters, digits, dots and hyphens, at most 253, with a letter or digit at both ends"

var podSources = []string{"hostPath", "emptyDir", "secret", "persistentVolumeClaim"}

func podRules() []*Rule {
	return []*Rule{
		check("eks-volumemount-unknown", High, podContainers, func(s Site) {
			var known []string
			for v := range each(s.Task, "volumes") {
				known = append(known, v.Get("name").Str())
			}
			for m := range each(s.Node, "volumeMounts") {
				if n := m.Get("name"); n.Str() != "" && !slices.Contains(known, n.Str()) {
					hint := "add it to volumes"
					if near := near(n.Str(), known); near != "" {
						hint = "did you mean " + quote(near) + "?"
					}
					s.Report(fmt.Sprintf("no volume of the pod is called %s", quote(n.Str())), hint, n)
				}
			}
		}, "A container mounts the volumes of its pod.", tried("EksContainerVolumeMount.name")),
		row("eks-volume-name-required", High, in(pods, "volumes[]"), needs("name"),
			"A volume has a name, by which containers mount it.", api("EksVolume.name")),
		row("eks-volume-name-dns", Medium, in(pods, "volumes[].name", "volumes[].secret.secretName"), subdomain,
			"Names of volumes and secrets are DNS names, in lower case.", api("EksVolume.name and EksSecret.secretName")),
		row("eks-volume-one-source", Low, in(pods, "volumes[]"), func(s Site, n *jsontree.Node, label string) {
			some := false
			for _, m := range podSources {
				some = some || !s.lacks(n, m)
			}
			if !some && n.Is(jsontree.Object) {
				s.Report("the volume has no source: "+either(podSources), `for scratch space add "emptyDir": {}`, n)
			}
			exclusive(podSources...)(s, n, label)
		}, "A volume has one source.", "Kubernetes documentation, volumes"),
		row("eks-volume-duplicate-name", Low, in(pods, "volumes"), distinct("name", "give each volume its own name"),
			"Volumes of a pod have different names.", "Kubernetes documentation, volumes"),
		row("eks-emptydir-medium", High, in(pods, "volumes[].emptyDir.medium"), func(s Site, n *jsontree.Node, _ string) {
			if n.Is(jsontree.String) && n.Text != "" && n.Text != "Memory" {
				s.badValue(n, "medium", []string{"Memory"})
			}
		}, "An empty directory is on the node's disk (no medium) or in Memory.", tried("EksEmptyDir.medium")),
		row("eks-emptydir-sizelimit-unit", Medium, in(pods, "volumes[].emptyDir.sizeLimit"), func(s Site, n *jsontree.Node, _ string) {
			if n.Is(jsontree.String) && !mebibytes().MatchString(n.Text) {
				value := inMi(n.Text)
				s.ReportFix(fixIf(value != "", n, value), "sizeLimit is a whole number with Mi, not "+quote(n.Text), writeHint(value), n)
			}
		}, "The limit of an empty directory is in MiB, with the suffix Mi.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("eks-secret-name-required", High, in(pods, "volumes[].secret"), needs("secretName"),
			"A secret volume names its secret.", api("EksSecret.secretName")),
		row("eks-pvc-claimname-required", High, in(pods, "volumes[].persistentVolumeClaim"), needs("claimName"),
			"A claimed volume names its claim.", api("EksPersistentVolumeClaim.claimName")),
		row("eks-imagepullsecret-name", High, in(pods, "imagePullSecrets[]"), needs("name"),
			"A pull secret is named.", tried("ImagePullSecret.name")),
		row("eks-imagepullsecret-charset", Medium, in(pods, "imagePullSecrets[].name"), subdomain,
			"The name of a pull secret is a DNS name, in lower case.", api("ImagePullSecret.name")),
		row("eks-namespace-default", High, in(podBodies, "metadata.namespace"), func(s Site, n *jsontree.Node, _ string) {
			if n.Str() == "default" {
				s.Report("jobs do not run in the namespace default", "name the namespace of the compute environment, or leave it out", n)
			}
		}, "AWS Batch keeps out of Kubernetes's default namespace.", tried("EksMetadata.namespace")),
		row("eks-namespace-kube", High, in(podBodies, "metadata.namespace"), func(s Site, n *jsontree.Node, _ string) {
			if strings.HasPrefix(n.Str(), "kube") {
				s.Report("namespaces that start with kube belong to Kubernetes", "name the namespace of the compute environment", n)
			}
		}, "AWS Batch keeps out of Kubernetes's own namespaces.", tried("EksMetadata.namespace")),
		row("eks-namespace-format", Medium, in(podBodies, "metadata.namespace"), func(s Site, n *jsontree.Node, _ string) {
			if n.Is(jsontree.String) && !dnsLabel().MatchString(n.Text) {
				s.ReportFix(lowerFix(n, dnsLabel), "a namespace is 1 to 63 lower-case letters, digits and hyphens, not "+quote(n.Text), lowerHint(n.Text), n)
			}
		}, "A namespace is a DNS label.", api("EksMetadata.namespace")),
		row("eks-label-value-length", High, in(podBodies, "metadata.labels.*"), func(s Site, n *jsontree.Node, _ string) {
			if c := utf8.RuneCountInString(n.Str()); c > 63 {
				s.Report(fmt.Sprintf("the value of a label is at most 63 characters long, this one has %d", c), "long texts go into annotations", n)
			}
		}, "The value of a label is at most 63 characters long.", api("EksMetadata.labels")),
		row("eks-label-key-format", High, in(podBodies, "metadata.labels.*"), keyFormat("a label"),
			"The key of a label is [prefix/]name: the name up to 63 letters, digits and -_. with a letter or digit at both ends.", tried("EksMetadata.labels")),
		row("eks-label-key-reserved", Medium, in(podBodies, "metadata.labels.*"), keyReserved("a label"),
			"Prefixes of Kubernetes and of AWS Batch are theirs.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("eks-annotation-value-length", High, in(podBodies, "metadata.annotations.*"), func(s Site, n *jsontree.Node, _ string) {
			if c := utf8.RuneCountInString(n.Str()); c > 255 {
				s.Report(fmt.Sprintf("the value of an annotation is at most 255 characters long, this one has %d", c), "", n)
			}
		}, "The value of an annotation is at most 255 characters long.", api("EksMetadata.annotations")),
		row("eks-annotation-key-format", Medium, in(podBodies, "metadata.annotations.*"), keyFormat("an annotation"),
			"The key of an annotation is [prefix/]name, as of a label.", api("EksMetadata.annotations")),
		row("eks-annotation-key-reserved", Medium, in(podBodies, "metadata.annotations.*"), keyReserved("an annotation"),
			"Prefixes of Kubernetes and of AWS Batch are theirs.", "answered so by the service in 2026-09 (cdk-preflight)"),
	}
}

// podBodies is pods and what submissions override of them.
func podBodies(p *Pass) []Site {
	list := pods(p)
	list = list[:len(list):len(list)]
	for _, s := range submits(p) {
		if pod := s.Node.Get("eksPropertiesOverride").Get("podProperties"); pod.Is(jsontree.Object) {
			s.Node = pod
			list = append(list, s)
		}
	}
	return list
}

func subdomain(s Site, n *jsontree.Node, label string) {
	if n.Is(jsontree.String) && !dnsSubdomain().MatchString(n.Text) {
		s.ReportFix(lowerFix(n, dnsSubdomain), fmt.Sprintf("%s is %s, not %s", label, subdomainWords, quote(n.Text)), lowerHint(n.Text), n)
	}
}

func keyFormat(what string) want {
	return func(s Site, n *jsontree.Node, _ string) {
		prefix, name, found := strings.Cut(n.Name, "/")
		if !found {
			prefix, name = "", n.Name
		}
		if strings.HasPrefix(n.Name, "$") || keyName().MatchString(name) && (!found || dnsSubdomain().MatchString(prefix)) {
			return
		}
		s.Report(fmt.Sprintf("the key of %s is a name of up to 63 letters, digits and -_. with an optional DNS prefix before a slash, not %s", what, quote(n.Name)),
			"a letter or digit stands at both ends", key(n))
	}
}

func keyReserved(what string) want {
	return func(s Site, n *jsontree.Node, _ string) {
		prefix, _, found := strings.Cut(n.Name, "/")
		if !found {
			return
		}
		for _, theirs := range []string{"kubernetes.io", "k8s.io", "batch.amazonaws.com"} {
			if prefix == theirs || strings.HasSuffix(prefix, "."+theirs) {
				s.Report(fmt.Sprintf("the key of %s cannot have the prefix %s, which is reserved", what, quote(prefix)), "use a prefix of your own domain, or none", key(n))
			}
		}
	}
}
