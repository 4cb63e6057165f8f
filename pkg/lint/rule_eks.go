package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

const eksContainer = "EksContainer"

func eksRules() []*Rule {
	return []*Rule{
		check("eks-containers-required", Medium, pods, checkPodContainers,
			"A pod has at least one container.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("eks-containers-max", Medium, in(pods, "containers"), atMost(10, ""),
			"A pod has at most 10 containers.", api("EksPodProperties.containers")),
		row("eks-initcontainers-max", Medium, in(pods, "initContainers"), atMost(10, ""),
			"A pod has at most 10 init containers.", api("EksPodProperties.initContainers")),
		row("eks-image-required", High, in(podContainers, ""), needed("the container", "image"),
			"Every container of a pod names its image.", tried(eksContainer+".image")),
		check("eks-container-name-unique", High, pods, checkPodContainerNames,
			"Containers of a pod have different names. One without a name is called Default.", tried(eksContainer+".name")),
		row("eks-container-name-dns", Low, in(podContainers, "name"), checkPodContainerName,
			"Kubernetes takes DNS labels as names of containers.", api(eksContainer+".name")),
		check("eks-cpu-required", High, podContainers, func(s Site) { s.requiresOnEKS("cpu", `"1"`) },
			"A container of a pod says how much cpu it needs, in limits or requests.", tried(eksContainer+".resources")),
		check("eks-memory-required", High, podContainers, func(s Site) { s.requiresOnEKS("memory", `"1024Mi"`) },
			"A container of a pod says how much memory it needs, in limits or requests.", tried(eksContainer+".resources")),
		check("eks-resource-keys", High, podParts, checkPodResourceKeys,
			"On EKS a container asks for cpu, memory and nvidia.com/gpu, nothing else.", tried(eksContainer+".resources")),
		check("eks-cpu-no-milli", High, podParts, checkPodMillicores,
			"Kubernetes's 500m is refused: AWS Batch takes cores, in steps of 0.25.", tried(eksContainer+".resources")),
		check("eks-cpu-quarter", High, podParts, checkPodCPUSteps,
			"cpu on EKS is 0.25 or a multiple of it.", tried(eksContainer+".resources")),
		check("eks-cpu-request-le-limit", High, podParts, checkPodCPULimit,
			"A container is promised at most as much cpu as it may use.", tried(eksContainer+".resources")),
		check("eks-memory-unit", High, podParts, checkPodMemoryUnit,
			"Memory on EKS is in MiB, with the suffix Mi; Gi and M are refused.", tried(eksContainer+".resources")),
		check("eks-memory-min", Medium, podParts, checkPodMemory,
			"A container asks for at least 4 MiB. A smaller figure is often meant in GiB.", api(eksContainer+".resources")),
		check("eks-memory-request-eq-limit", High, podParts, func(s Site) { s.sameOnEKS("memory") },
			"Memory is promised in full: request and limit are equal.", tried(eksContainer+".resources")),
		check("eks-gpu-integer", High, podParts, checkPodGPUs,
			"AWS Batch gives out whole GPUs.", tried(eksContainer+".resources")),
		check("eks-gpu-request-eq-limit", High, podParts, func(s Site) { s.sameOnEKS(gpuKey) },
			"GPUs cannot be shared out later: request and limit are equal.", tried(eksContainer+".resources")),
		row("eks-quantity-length", High, in(podAndParts, "resources.limits.*", "resources.requests.*", "volumes[].emptyDir.sizeLimit"), chars(1, 256),
			"A quantity is 1 to 256 characters long.", api("Quantity")),
		row("eks-image-pull-policy", High, in(podContainers, "imagePullPolicy"), oneOf("Always", "IfNotPresent", "Never"),
			"When an image is pulled, in Kubernetes's own words.", tried(eksContainer+".imagePullPolicy")),
		row("eks-dns-policy", High, in(pods, "dnsPolicy"), oneOf("Default", "ClusterFirst", "ClusterFirstWithHostNet"),
			"How a pod finds names, in Kubernetes's own words.", tried("EksPodProperties.dnsPolicy")),
		row("eks-env-reserved-prefix", Medium, in(podParts, "env"), func(s Site, n *jsontree.Node, _ string) { reservedNames(s.Job, n) },
			"Names that start with AWS_BATCH belong to AWS Batch, on EKS too.", api("EksContainerEnvironmentVariable")),
		row("eks-env-name-required", High, in(podParts, "env[]"), needs(`name: "NAME"`),
			"A variable has a name.", api("EksContainerEnvironmentVariable.name")),
		row("eks-no-platformcapabilities", Medium, in(where(definitions, Site.onEKS), "platformCapabilities"), absent("does not go with eksProperties", ""),
			"platformCapabilities tells EC2 from Fargate on ECS; an EKS job has none.", api("RegisterJobDefinition.platformCapabilities")),
		row("eks-no-propagatetags", High, in(where(definitions, Site.onEKS), "propagateTags"), absent("does not go with eksProperties", "remove it; give the pod labels in metadata"),
			"Tags do not reach pods.", tried("RegisterJobDefinition.propagateTags")),
		check("eks-runasnonroot-uid0", Low, podContainers, checkNonRoot,
			"Kubernetes does not start a container whose user is 0 and must not be root.", "Kubernetes documentation, security context"),
		check("eks-privileged-escalation", Low, podContainers, checkEscalation,
			"Kubernetes refuses a privileged container that may not escalate.", "Kubernetes documentation, security context"),
		check("eks-dns-hostnet", Low, pods, checkDNSPolicy,
			"A pod on the host's network uses the host's DNS unless the policy is ClusterFirstWithHostNet.", api("EksPodProperties.dnsPolicy")),
	}
}

func checkPodContainers(s Site) {
	if list := s.Node.Get("containers"); list.Len() == 0 && (list != nil || s.lacks(s.Node, "containers")) {
		s.Report("podProperties needs containers: at least one", `add "containers": [ { "image": "..." } ]`, list, s.Node)
	}
}

func checkPodContainerNames(s Site) {
	seen := map[string]bool{}
	for c := range each(s.Node, "initContainers", "containers") {
		name := podName(c)
		if seen[name] {
			s.Report(fmt.Sprintf("two containers of the pod are called %s", quote(name)), "give each its own name; without one it is Default", c.Get("name"), c)
		}
		seen[name] = true
	}
}

func checkPodContainerName(s Site, n *jsontree.Node, _ string) {
	if n.Str() != "Default" && !dnsLabel().MatchString(n.Str()) {
		s.ReportFix(lowerFix(n, dnsLabel), "the name of a container is lower-case letters, digits and hyphens, at most 63, not "+quote(n.Str()), lowerHint(n.Str()), n)
	}
}

func checkPodResourceKeys(s Site) {
	s.eachQuantity("", func(n *jsontree.Node) {
		switch n.Name {
		case "cpu", "memory", gpuKey:
		default:
			hint := "they are cpu, memory and " + gpuKey
			if near := near(n.Name, []string{"cpu", "memory", gpuKey}); near != "" {
				hint = "write " + quote(near)
			}
			s.Report(fmt.Sprintf("AWS Batch has no resource %s on EKS", quote(n.Name)), hint, key(n))
		}
	})
}

func checkPodMillicores(s Site) {
	s.eachQuantity("cpu", func(n *jsontree.Node) {
		if m, ok := strings.CutSuffix(n.Text, "m"); ok {
			hint, value := "write cores, such as \"0.5\"", ""
			if f, err := strconv.ParseFloat(m, 64); err == nil && f > 0 && f < 1e9 {
				value = decimal(math.Ceil(f/250) / 4)
				hint = "write " + quote(value)
			}
			s.ReportFix(fixIf(value != "", n, value), "cpu is in cores, not in thousandths: "+quote(n.Text), hint, n)
		}
	})
}

func checkPodCPUSteps(s Site) {
	s.eachQuantity("cpu", func(n *jsontree.Node) {
		f, ok := number(n)
		if strings.HasSuffix(n.Text, "m") || ok && f > 0 && f*4 == math.Trunc(f*4) {
			return
		}
		value := ""
		if ok && f > 0 && f < 1e9 {
			value = decimal(math.Ceil(f*4) / 4)
		}
		s.ReportFix(fixIf(value != "", n, value), "cpu is a multiple of 0.25, not "+quote(n.Text), writeHint(value), n)
	})
}

func checkPodCPULimit(s Site) {
	r := s.Node.Get("resources")
	limit, okL := number(r.Get("limits").Get("cpu"))
	request, okR := number(r.Get("requests").Get("cpu"))
	if okL && okR && request > limit {
		s.Report(fmt.Sprintf("the request for cpu, %s, is above its limit, %s", decimal(request), decimal(limit)), "raise the limit", r.Get("requests").Get("cpu"))
	}
}

func checkPodMemoryUnit(s Site) {
	s.eachQuantity("memory", func(n *jsontree.Node) {
		if !mebibytes().MatchString(n.Text) {
			value := inMi(n.Text)
			s.ReportFix(fixIf(value != "", n, value), "memory is a whole number with Mi, not "+quote(n.Text), writeHint(value), n)
		}
	})
}

func checkPodMemory(s Site) {
	s.eachQuantity("memory", func(n *jsontree.Node) {
		if mib, err := strconv.Atoi(strings.TrimSuffix(n.Text, "Mi")); err == nil && mebibytes().MatchString(n.Text) && mib < 4 {
			s.Report("memory is at least 4Mi, not "+quote(n.Text), fmt.Sprintf(`for %d GiB write "%dMi"`, mib, mib*1024), n)
		}
	})
}

func checkPodGPUs(s Site) {
	s.eachQuantity(gpuKey, func(n *jsontree.Node) {
		if !isWhole(n.Text) {
			s.Report(gpuKey+" is a whole number, not "+quote(n.Text), `write "1"`, n)
		}
	})
}

func checkNonRoot(s Site) {
	c := s.Node.Get("securityContext")
	if uid, ok := c.Get("runAsUser").Int(); ok && uid == 0 && isTrue(c.Get("runAsNonRoot")) {
		s.Report("runAsNonRoot forbids the user 0 that runAsUser names", "name another user", c.Get("runAsUser"))
	}
}

func checkEscalation(s Site) {
	c := s.Node.Get("securityContext")
	if n := c.Get("allowPrivilegeEscalation"); isTrue(c.Get("privileged")) && isFalse(n) {
		s.ReportFix(s.remove(n), "a privileged container cannot be kept from escalating", "remove it, or privileged", n)
	}
}

func checkDNSPolicy(s Site) {
	if n := s.Node.Get("dnsPolicy"); n.Str() == "ClusterFirst" && !isFalse(s.Node.Get("hostNetwork")) {
		s.ReportFix(replace(n, "ClusterFirstWithHostNet"), "with the host's network, the default, ClusterFirst does not ask the cluster's DNS",
			`write "ClusterFirstWithHostNet", or "hostNetwork": false`, n)
	}
}

var mebibytes = lazy(`^[0-9]{1,12}Mi$`)

func podAndParts(p *Pass) []Site { return slices.Concat(podParts(p), pods(p)) }

// eachQuantity visits what a container asks for and is limited to; a name of ""
// stands for all resources.
func (s Site) eachQuantity(name string, visit func(*jsontree.Node)) {
	for _, list := range []string{"limits", "requests"} {
		for n := range s.Node.Get("resources").Get(list).Children() {
			if (name == "" || n.Name == name) && n.Is(jsontree.String) && n.Text != "" {
				visit(n)
			}
		}
	}
}

func (s Site) requiresOnEKS(name, example string) {
	r := s.Node.Get("resources")
	for _, list := range []string{"limits", "requests"} {
		if l := r.Get(list); l != nil && !s.lacks(l, name) {
			return
		}
		if r != nil && r.Get(list) == nil && !s.lacks(r, list) {
			return
		}
	}
	if r == nil && !s.lacks(s.Node, "resources") {
		return
	}
	s.Report("the container does not say how much "+name+" it needs", fmt.Sprintf(`add "resources": { "limits": { %q: %s } }`, name, example), r.Get("limits"), r)
}

func (s Site) sameOnEKS(name string) {
	r := s.Node.Get("resources")
	limit, request := r.Get("limits").Get(name), r.Get("requests").Get(name)
	if limit.Str() != "" && request.Str() != "" && limit.Str() != request.Str() {
		s.Report(fmt.Sprintf("the request for %s, %s, differs from its limit, %s", name, quote(request.Str()), quote(limit.Str())), "make them equal, or leave the request out", request)
	}
}

// inMi translates what Kubernetes would take for memory into MiB, rounded up.
func inMi(s string) string {
	m := withUnit().FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	f, err := strconv.ParseFloat(m[1], 64)
	unit, known := map[string]float64{"": 1, "K": 1e3, "Ki": 1 << 10, "M": 1e6, "Mi": 1 << 20, "MB": 1 << 20, "MiB": 1 << 20, "G": 1e9, "Gi": 1 << 30, "GB": 1 << 30, "GiB": 1 << 30, "T": 1e12, "Ti": 1 << 40}[m[2]]
	if err != nil || !known || f > 1<<40 {
		return ""
	}
	mib := math.Ceil(f * unit / (1 << 20))
	if m[2] == "" && f < 1<<20 {
		mib = f // nobody means bytes
	}
	return fmt.Sprintf("%.0fMi", math.Ceil(mib))
}
