package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// subdomainForm describes a DNS subdomain (RFC 1123), the form of most names in
// Kubernetes.
const subdomainForm = "at most 253 lower-case letters, digits, dots and hyphens, with a letter or digit at both ends"

// podSources are the members of a volume that say where its files come from.
var podSources = []string{"hostPath", "emptyDir", "secret", "persistentVolumeClaim"}

// podRules returns the rules about volumes and metadata of pods. Kubernetes defines their
// form; AWS Batch passes them on, and reserves some namespaces and prefixes.
func podRules() []*Rule {
	return []*Rule{
		check("eks-volumemount-unknown", High, podContainers, func(s Site) {
			var known []string
			for _, v := range each(s.Task, "volumes") {
				known = append(known, v.Get("name").Str())
			}
			for _, m := range each(s.Node, "volumeMounts") {
				if n := m.Get("name"); n.Str() != "" && !slices.Contains(known, n.Str()) {
					hint := "add it to volumes"
					if near := near(n.Str(), known); near != "" {
						hint = "did you mean " + quote(near) + "?"
					}
					s.Report(fmt.Sprintf("the pod has no volume called %s", quote(n.Str())), hint, n)
				}
			}
		}, "A container can mount only the volumes of its pod.", tried("EksContainerVolumeMount.name")),
		// Volumes and secrets of a pod.
		row("eks-volume-name-required", High, in(pods, "volumes[]"), needs("name"),
			"Containers mount a volume by its name, so it needs one.", api("EksVolume.name")),
		row("eks-volume-name-dns", Medium, in(pods, "volumes[].name", "volumes[].secret.secretName"), subdomain,
			"The names of volumes and secrets are DNS names in lower case.",
			api("EksVolume.name and EksSecret.secretName")),
		row("eks-volume-one-source", Low, in(pods, "volumes[]"), func(s Site, n *jsontree.Node, label string) {
			some := false
			for _, m := range podSources {
				some = some || !s.lacks(n, m)
			}
			if !some && n.Is(jsontree.Object) {
				s.Report("the volume has no source: "+text.Or(podSources), `add "emptyDir": {} for scratch space`, n)
			}
			exclusive(podSources...)(s, n, label)
		}, "A volume has one source.", "Kubernetes documentation, volumes"),
		row("eks-volume-duplicate-name", Low, in(pods, "volumes"), distinct("name", "give each volume its own name"),
			"Volumes of a pod have different names.", "Kubernetes documentation, volumes"),
		row("eks-emptydir-medium", High, in(pods, "volumes[].emptyDir.medium"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Is(jsontree.String) && n.Text != "" && n.Text != "Memory" {
					s.badValue(n, "medium", []string{"Memory"})
				}
			}, "The medium of emptyDir is \"\", the node's disk, or \"Memory\".", tried("EksEmptyDir.medium")),
		row("eks-emptydir-sizelimit-unit", Medium, in(pods, "volumes[].emptyDir.sizeLimit"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Is(jsontree.String) && !mebibytes().MatchString(n.Text) {
					value := inMi(n.Text)
					s.ReportFix(fixIf(value != "", n, value), "sizeLimit must be a whole number with Mi, not "+
						quote(n.Text), writeHint(value), n)
				}
			}, "The sizeLimit of emptyDir is in MiB, with the suffix Mi.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("eks-secret-name-required", High, in(pods, "volumes[].secret"), needs("secretName"),
			"A secret volume needs the name of its secret.", api("EksSecret.secretName")),
		row("eks-pvc-claimname-required", High, in(pods, "volumes[].persistentVolumeClaim"), needs("claimName"),
			"A persistentVolumeClaim volume needs the name of its claim.", api("EksPersistentVolumeClaim.claimName")),
		row("eks-imagepullsecret-name", High, in(pods, "imagePullSecrets[]"), needs("name"),
			"A pull secret needs a name.", tried("ImagePullSecret.name")),
		row("eks-imagepullsecret-charset", Low, in(pods, "imagePullSecrets[].name"), subdomain,
			"The name of a pull secret is a DNS name in lower case.", api("ImagePullSecret.name")),
		// Metadata, also in submissions that override it.
		row("eks-namespace-default", High, in(podBodies, "metadata.namespace"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Str() == "default" {
					s.Report("jobs do not run in the namespace default",
						"write the namespace of the compute environment, or remove it", n)
				}
			}, "AWS Batch does not use the default namespace of Kubernetes.", tried("EksMetadata.namespace")),
		row("eks-namespace-kube", High, in(podBodies, "metadata.namespace"), func(s Site, n *jsontree.Node, _ string) {
			if strings.HasPrefix(n.Str(), "kube") {
				s.Report("namespaces that start with kube belong to Kubernetes",
					"write the namespace of the compute environment", n)
			}
		}, "AWS Batch does not use the namespaces of Kubernetes itself.", tried("EksMetadata.namespace")),
		row("eks-namespace-format", Medium, in(podBodies, "metadata.namespace"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Is(jsontree.String) && !dnsLabel().MatchString(n.Text) {
					s.ReportFix(lowerFix(n, dnsLabel),
						"a namespace must be 1 to 63 lower-case letters, digits and hyphens, not "+quote(n.Text),
						lowerHint(n.Text), n)
				}
			}, "A namespace is a DNS label.", api("EksMetadata.namespace")),
		row("eks-label-value-length", High, in(podBodies, "metadata.labels.*"),
			func(s Site, n *jsontree.Node, _ string) {
				if c := utf8.RuneCountInString(n.Str()); c > 63 {
					s.Report(fmt.Sprintf("the value of a label can have at most 63 characters, and this one has %d", c),
						"use an annotation for long text", n)
				}
			}, "The value of a label is at most 63 characters long.", tried("EksMetadata.labels")),
		row("eks-label-key-format", High, in(podBodies, "metadata.labels.*"), keyFormat("a label"),
			"The key of a label is [prefix/]name. The name has up to 63 letters, digits and -_. with a letter or digit at both ends.", tried("EksMetadata.labels")),
		row("eks-label-key-reserved", Medium, in(podBodies, "metadata.labels.*"), keyReserved("a label"),
			"The prefixes of Kubernetes and of AWS Batch are reserved.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("eks-annotation-value-length", High, in(podBodies, "metadata.annotations.*"),
			func(s Site, n *jsontree.Node, _ string) {
				if c := utf8.RuneCountInString(n.Str()); c > 255 {
					s.Report(fmt.Sprintf("the value of an annotation can have at most 255 characters, and this one has %d",
						c), "", n)
				}
			}, "The value of an annotation is at most 255 characters long.", tried("EksMetadata.annotations")),
		row("eks-annotation-key-format", Medium, in(podBodies, "metadata.annotations.*"), keyFormat("an annotation"),
			"The key of an annotation is [prefix/]name, like the key of a label.", api("EksMetadata.annotations")),
		row("eks-annotation-key-reserved", Medium, in(podBodies, "metadata.annotations.*"),
			keyReserved("an annotation"),
			"The prefixes of Kubernetes and of AWS Batch are reserved.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
	}
}

// podBodies returns pods, and the overrides of pods in submissions.
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

// subdomain requires a DNS subdomain.
func subdomain(s Site, n *jsontree.Node, label string) {
	if n.Is(jsontree.String) && !dnsSubdomain().MatchString(n.Text) {
		s.ReportFix(lowerFix(n, dnsSubdomain), fmt.Sprintf("%s must be %s, not %s", label, subdomainForm,
			quote(n.Text)), lowerHint(n.Text), n)
	}
}

// keyFormat requires the form [prefix/]name for the key of a label or an annotation
// (Kubernetes documentation, labels and selectors). Members that start with $ are notes.
func keyFormat(what string) condition {
	return func(s Site, n *jsontree.Node, _ string) {
		prefix, name, found := strings.Cut(n.Name, "/")
		if !found {
			prefix, name = "", n.Name
		}
		if strings.HasPrefix(n.Name, "$") || keyName().MatchString(name) &&
			(!found || dnsSubdomain().MatchString(prefix)) {
			return
		}
		s.Report(fmt.Sprintf("the key of %s must be a name of up to 63 letters, digits and -_. with an optional DNS prefix before a slash, not %s", what, quote(n.Name)),
			"start and end the name with a letter or digit", key(n))
	}
}

// keyReserved requires that the key of a label or an annotation has none of the prefixes
// that Kubernetes and AWS Batch use themselves.
func keyReserved(what string) condition {
	return func(s Site, n *jsontree.Node, _ string) {
		prefix, _, found := strings.Cut(n.Name, "/")
		if !found {
			return
		}
		for _, theirs := range []string{"kubernetes.io", "k8s.io", "batch.amazonaws.com"} {
			if prefix == theirs || strings.HasSuffix(prefix, "."+theirs) {
				s.Report(fmt.Sprintf("the key of %s cannot have the prefix %s, which is reserved", what, quote(prefix)),
					"use a prefix with your own domain, or no prefix", key(n))
			}
		}
	}
}
