package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// eksContainer is the shape of the API reference that most of these rules are about.
const eksContainer = "EksContainer"

// eksRules returns the rules about the pods of jobs on EKS. AWS Batch accepts a part of
// the Kubernetes API, and is stricter: memory is in Mi, and its request equals its limit.
func eksRules() []*Rule {
	return []*Rule{
		warns(row("eks-pod-required", Medium, in(definitionsOnEKS, "eksProperties"),
			needs("podProperties: { \"containers\": [ ... ] }"),
			"A job on EKS has podProperties, which describe its pod. The API model does not require them, but nothing else says what to run.", derived)),
		check("eks-containers-required", Medium, pods, checkPodContainers,
			"A pod has at least one container.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("eks-containers-max", Medium, in(pods, "containers"), atMost(10, ""),
			"A pod has at most 10 containers.", api("EksPodProperties.containers")),
		row("eks-initcontainers-max", Medium, in(pods, "initContainers"), atMost(10, ""),
			"A pod has at most 10 init containers.", api("EksPodProperties.initContainers")),
		row("eks-image-required", High, in(podContainers, ""), needed("the container", "image"),
			"Every container of a pod names its image.", tried(eksContainer+".image")),
		check("eks-container-name-unique", High, pods, checkPodContainerNames,
			"Containers of a pod have different names. One without a name is called Default.",
			tried(eksContainer+".name")),
		row("eks-container-name-dns", Low, in(podContainers, "name"), checkPodContainerName,
			"In Kubernetes the name of a container is a DNS label.", api(eksContainer+".name")),
		// Requests and limits of containers, and of their overrides in submissions.
		check("eks-cpu-required", High, podContainers, func(s Site) { checkRequestsOnEKS(s, eksAmounts[:]) },
			"A container of a pod states its cpu in limits or requests.", tried(eksContainer+".resources")),
		check("eks-memory-required", High, podContainers, func(s Site) { checkRequestsOnEKS(s, eksAmounts[1:]) },
			"A container of a pod states its memory in limits or requests.", tried(eksContainer+".resources")),
		check("eks-resource-keys", High, podParts, checkPodResourceKeys,
			"On EKS, a container can request cpu, memory and nvidia.com/gpu only.", tried(eksContainer+".resources")),
		check("eks-cpu-no-milli", High, podParts, checkPodMillicores,
			"AWS Batch rejects the form 500m of Kubernetes. Write cores, in steps of 0.25.",
			tried(eksContainer+".resources")),
		check("eks-cpu-quarter", High, podParts, checkPodCPUSteps,
			"cpu on EKS is a multiple of 0.25.", tried(eksContainer+".resources")),
		check("eks-cpu-request-le-limit", High, podParts, checkPodCPULimit,
			"The cpu request of a container is at most its cpu limit.", tried(eksContainer+".resources")),
		check("eks-memory-unit", High, podParts, checkPodMemoryUnit,
			"Memory on EKS is in MiB, with the suffix Mi. AWS Batch rejects Gi and M.",
			tried(eksContainer+".resources")),
		check("eks-memory-min", Medium, podParts, checkPodMemory,
			"A container needs at least 4 MiB. A smaller number often means GiB.", api(eksContainer+".resources")),
		check("eks-memory-request-eq-limit", High, podParts, func(s Site) { checkLimitOnEKS(s, "memory") },
			"The request and the limit for memory are equal.", tried(eksContainer+".resources")),
		check("eks-gpu-integer", High, podParts, checkPodGPUs,
			"AWS Batch assigns whole GPUs.", tried(eksContainer+".resources")),
		check("eks-gpu-request-eq-limit", High, podParts, func(s Site) { checkLimitOnEKS(s, gpuKey) },
			"The request and the limit for GPUs are equal.", tried(eksContainer+".resources")),
		row("eks-quantity-length", High, in(podAndParts, "resources.limits.*", "resources.requests.*",
			"volumes[].emptyDir.sizeLimit"), chars(1, 256),
			"A quantity is 1 to 256 characters long.", api("Quantity")),
		// The other members of containers and pods.
		row("eks-image-pull-policy", High, in(podContainers, "imagePullPolicy"),
			oneOf("Always", "IfNotPresent", "Never"),
			"imagePullPolicy has the values that Kubernetes defines.", tried(eksContainer+".imagePullPolicy")),
		row("eks-dns-policy", High, in(pods, "dnsPolicy"), oneOf("Default", "ClusterFirst", "ClusterFirstWithHostNet"),
			"dnsPolicy has the values that Kubernetes defines.", tried("EksPodProperties.dnsPolicy")),
		warns(row("eks-env-reserved-prefix", Medium, in(podParts, "env[].name"), unreserved,
			"Names that start with AWS_BATCH belong to AWS Batch, on EKS too. Reports of jobs on ECS say that the job does not get such a variable.", api("EksContainer.env")+lostVariables)),
		row("eks-env-name-required", High, in(podParts, "env[]"), needs(`name: "NAME"`),
			"A variable has a name.", api("EksContainerEnvironmentVariable.name")),
		warns(row("eks-no-platformcapabilities", Medium, in(definitionsOnEKS, "platformCapabilities"),
			absent("should not be combined with eksProperties", ""),
			"platformCapabilities selects EC2 or Fargate on ECS. The API reference says that an EKS job must not specify it, but no answer of AWS Batch shows that it rejects the member.",
			api("RegisterJobDefinition.platformCapabilities"))),
		row("eks-no-propagatetags", High, in(definitionsOnEKS, "propagateTags"),
			absent("cannot be combined with eksProperties", "remove it; give the pod labels in metadata"),
			"AWS Batch does not propagate tags to pods.", tried("RegisterJobDefinition.propagateTags")),
		// AWS Batch accepts these; Kubernetes rejects them or behaves unexpectedly.
		check("eks-runasnonroot-uid0", Low, podContainers, checkNonRoot,
			"Kubernetes does not start a container with runAsNonRoot whose user is 0.",
			"Kubernetes documentation, security context"),
		check("eks-privileged-escalation", Low, podContainers, checkEscalation,
			"Kubernetes rejects a privileged container with allowPrivilegeEscalation false.",
			"Kubernetes documentation, security context"),
		check("eks-dns-hostnet", Low, pods, checkDNSPolicy,
			"A pod on the host's network uses the host's DNS unless dnsPolicy is ClusterFirstWithHostNet.",
			api("EksPodProperties.dnsPolicy")),
	}
}

// checkPodContainers reports absent or empty containers. Init containers do not count.
func checkPodContainers(s Site) {
	if list := s.Node.Get("containers"); list.Len() == 0 && (list != nil || s.lacks(s.Node, "containers")) {
		s.Report("podProperties needs at least one container", `add "containers": [ { "image": "..." } ]`, list, s.Node)
	}
}

// checkPodContainerNames reports a name that two containers of a pod share. Init
// containers have the same namespace.
func checkPodContainerNames(s Site) {
	seen := map[string]bool{}
	for _, c := range each(s.Node, "initContainers", "containers") {
		name := podName(c)
		if seen[name] {
			s.Report(fmt.Sprintf("two containers of the pod are called %s", quote(name)),
				"give each its own name; without a name it is Default", c.Get("name"), c)
		}
		seen[name] = true
	}
}

// checkPodContainerName reports a name that is not a DNS label. Default is the name that
// AWS Batch gives a container without one.
func checkPodContainerName(s Site, n *jsontree.Node, _ string) {
	if n.Str() != "Default" && !dnsLabel().MatchString(n.Str()) {
		s.ReportFix(lowerFix(n, dnsLabel),
			"the name of a container must be at most 63 lower-case letters, digits and hyphens, not "+quote(n.Str()),
			lowerHint(n.Str()), n)
	}
}

// checkPodResourceKeys reports resources that AWS Batch does not accept.
func checkPodResourceKeys(s Site) {
	eachQuantity(s.Node, "", func(n *jsontree.Node) {
		switch n.Name {
		case "cpu", "memory", gpuKey:
		default:
			hint := "the resources are cpu, memory and " + gpuKey
			if near := near(n.Name, []string{"cpu", "memory", gpuKey}); near != "" {
				hint = "did you mean " + quote(near) + "?"
			}
			s.Report(fmt.Sprintf("AWS Batch has no resource %s on EKS", quote(n.Name)), hint, key(n))
		}
	})
}

// checkPodMillicores reports cpu in thousandths of a core. The fix rounds up to the next
// quarter of a core.
func checkPodMillicores(s Site) {
	eachQuantity(s.Node, "cpu", func(n *jsontree.Node) {
		if m, ok := strings.CutSuffix(n.Text, "m"); ok {
			hint, value := "write cores, such as \"0.5\"", ""
			if f, err := strconv.ParseFloat(m, 64); err == nil && f > 0 && f < 1e9 {
				value = decimal(math.Ceil(f/250) / 4)
				hint = "write " + quote(value)
			}
			s.ReportFix(fixIf(value != "", n, value), "cpu must be in cores, not in thousandths: "+quote(n.Text), hint,
				n)
		}
	})
}

// checkPodCPUSteps reports a cpu that is not a positive multiple of 0.25. The fix rounds
// up. checkPodMillicores reports the form with "m".
func checkPodCPUSteps(s Site) {
	eachQuantity(s.Node, "cpu", func(n *jsontree.Node) {
		f, ok := number(n)
		if strings.HasSuffix(n.Text, "m") || ok && f > 0 && f*4 == math.Trunc(f*4) {
			return
		}
		value := ""
		if ok && f > 0 && f < 1e9 {
			value = decimal(math.Ceil(f*4) / 4)
		}
		s.ReportFix(fixIf(value != "", n, value), "cpu must be a multiple of 0.25, not "+quote(n.Text),
			writeHint(value), n)
	})
}

// checkPodCPULimit reports a request for cpu above the limit. Unlike memory, they may
// differ.
func checkPodCPULimit(s Site) {
	r := s.Node.Get("resources")
	limit, okL := number(r.Get("limits").Get("cpu"))
	request, okR := number(r.Get("requests").Get("cpu"))
	if okL && okR && request > limit {
		s.Report(fmt.Sprintf("the request for cpu, %s, is above its limit, %s", decimal(request), decimal(limit)),
			"raise the limit", r.Get("requests").Get("cpu"))
	}
}

// checkPodMemoryUnit reports memory that is not a whole number with "Mi". The fix converts
// other units and rounds up.
func checkPodMemoryUnit(s Site) {
	eachQuantity(s.Node, "memory", func(n *jsontree.Node) {
		if !mebibytes().MatchString(n.Text) {
			value := inMi(n.Text)
			s.ReportFix(fixIf(value != "", n, value), "memory must be a whole number with Mi, not "+quote(n.Text),
				writeHint(value), n)
		}
	})
}

// checkPodMemory reports less than the 4 MiB that AWS Batch requires.
func checkPodMemory(s Site) {
	eachQuantity(s.Node, "memory", func(n *jsontree.Node) {
		if mib, err := strconv.Atoi(strings.TrimSuffix(n.Text, "Mi")); err == nil && mebibytes().
			MatchString(n.Text) && mib < 4 {
			s.Report("memory must be at least 4Mi, not "+quote(n.Text),
				fmt.Sprintf(`for %d GiB write "%dMi"`, mib, mib*1024), n)
		}
	})
}

// checkPodGPUs reports a number of GPUs that is not whole.
func checkPodGPUs(s Site) {
	eachQuantity(s.Node, gpuKey, func(n *jsontree.Node) {
		if !isWhole(n.Text) {
			s.Report(gpuKey+" must be a whole number, not "+quote(n.Text), `write "1"`, n)
		}
	})
}

// checkNonRoot reports runAsNonRoot together with user 0.
func checkNonRoot(s Site) {
	c := s.Node.Get("securityContext")
	if uid, ok := c.Get("runAsUser").Int(); ok && uid == 0 && isTrue(c.Get("runAsNonRoot")) {
		s.Report("runAsNonRoot excludes runAsUser 0", "choose another user", c.Get("runAsUser"))
	}
}

// checkEscalation reports a privileged container that may not escalate privileges.
func checkEscalation(s Site) {
	c := s.Node.Get("securityContext")
	if n := c.Get("allowPrivilegeEscalation"); isTrue(c.Get("privileged")) && isFalse(n) {
		s.ReportFix(s.remove(n), "a privileged container can always escalate privileges",
			"remove this member, or remove privileged", n)
	}
}

// checkDNSPolicy reports ClusterFirst on the host's network, which AWS Batch uses unless
// hostNetwork is false.
func checkDNSPolicy(s Site) {
	if n := s.Node.Get("dnsPolicy"); n.Str() == "ClusterFirst" && !isFalse(s.Node.Get("hostNetwork")) {
		s.ReportFix(replace(n, "ClusterFirstWithHostNet"),
			"on the host's network (the default), ClusterFirst does not use the cluster's DNS",
			`write "ClusterFirstWithHostNet", or "hostNetwork": false`, n)
	}
}

// mebibytes matches the only form of memory that AWS Batch accepts on EKS.
var mebibytes = lazy(`^[0-9]{1,12}Mi$`)

// definitionsOnEKS returns the definitions for EKS.
var definitionsOnEKS = where(definitions, func(s Site) bool { return s.ownDefinition().onEKS() })

// podAndParts returns pods, their containers and the overrides of those.
func podAndParts(p *Pass) []Site { return slices.Concat(podParts(p), pods(p)) }

// eachQuantity visits the requests and limits of a container; a name of ""
// stands for all resources.
func eachQuantity(container *jsontree.Node, name string, visit func(*jsontree.Node)) {
	for _, list := range []string{"limits", "requests"} {
		for n := range container.Get("resources").Get(list).Children() {
			if (name == "" || n.Name == name) && n.Is(jsontree.String) && n.Text != "" {
				visit(n)
			}
		}
	}
}

// eksAmounts are the resources that every container of a pod requests, with the request that hints propose.
var eksAmounts = [...][2]string{{"cpu", `"1"`}, {"memory", `"1024Mi"`}}

// checkRequestsOnEKS reports a container of a pod that does not request the first of the amounts, and with it those
// after it: one edit adds both.
func checkRequestsOnEKS(s Site, wanted [][2]string) {
	if !s.lacksOnEKS(wanted[0][0]) || len(wanted) == 1 && s.lacksOnEKS(eksAmounts[0][0]) {
		return
	}
	var names, members []string
	for _, a := range wanted {
		if s.lacksOnEKS(a[0]) {
			names, members = append(names, a[0]), append(members, fmt.Sprintf("%q: %s", a[0], a[1]))
		}
	}
	limits := strings.Join(members, ", ")
	r := s.Node.Get("resources")
	hint, fix := fmt.Sprintf(`add "resources": { "limits": { %s } }`, limits), (*diag.Fix)(nil)
	switch {
	case r.Get("limits") != nil:
		hint, fix = "add "+limits+` to "limits"`, s.insert(r.Get("limits"), limits)
	case r != nil:
		hint = fmt.Sprintf(`add "limits": { %s }`, limits)
		fix = s.insert(r, strings.TrimPrefix(hint, "add "))
	default:
		fix = s.insert(s.Node, strings.TrimPrefix(hint, "add "))
	}
	s.ReportFix(fix, "the container does not request "+text.Or(names), hint, r.Get("limits"), r)
}

// lacksOnEKS reports whether a container of a pod has neither a limit nor a request for a resource.
func (s Site) lacksOnEKS(name string) bool {
	r := s.Node.Get("resources")
	for _, list := range []string{"limits", "requests"} {
		if l := r.Get(list); l != nil && !s.lacks(l, name) {
			return false
		}
		if r != nil && r.Get(list) == nil && !s.lacks(r, list) {
			return false
		}
	}
	return r != nil || s.lacks(s.Node, "resources")
}

// checkLimitOnEKS reports a request that differs from its limit. They are compared as text,
// since both are in the same unit.
func checkLimitOnEKS(s Site, name string) {
	r := s.Node.Get("resources")
	limit, request := r.Get("limits").Get(name), r.Get("requests").Get(name)
	if limit.Str() != "" && request.Str() != "" && limit.Str() != request.Str() {
		s.Report(fmt.Sprintf("the request for %s, %s, differs from its limit, %s", name, quote(request.Str()),
			quote(limit.Str())), "make them equal, or remove the request", request)
	}
}

// inMi converts a quantity of memory in Kubernetes's form to MiB, rounded up.
func inMi(s string) string {
	m := withUnit().FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	f, err := strconv.ParseFloat(m[1], 64)
	unit, known := map[string]float64{"": 1, "K": 1e3, "Ki": 1 << 10, "M": 1e6, "Mi": 1 << 20, "MB": 1 << 20,
		"MiB": 1 << 20, "G": 1e9, "Gi": 1 << 30, "GB": 1 << 30, "GiB": 1 << 30, "T": 1e12, "Ti": 1 << 40}[m[2]]
	if err != nil || !known || f > 1<<40 {
		return ""
	}
	mib := math.Ceil(f * unit / (1 << 20))
	if m[2] == "" && f < 1<<20 {
		mib = f // a bare number hardly means bytes
	}
	return fmt.Sprintf("%.0fMi", math.Ceil(mib))
}
