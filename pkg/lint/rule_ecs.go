package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// taskContainers returns the containers of tasks, but not containers that are a whole job.
var taskContainers = where(containers, func(s Site) bool { return s.Node != s.Task })

// ecsBlocks are the paths from a definition to the objects that describe tasks.
var ecsBlocks = []string{"ecsProperties", "nodeProperties.nodeRangeProperties[].ecsProperties"}

// under appends a path to each of the paths.
func under(paths []string, tail string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, p+tail)
	}
	return out
}

// ecsRules returns the rules about jobs with several containers (ecsProperties), which
// Amazon ECS runs as one task. containerProperties, for a single container, has others.
func ecsRules() []*Rule {
	return []*Rule{
		row("ecs-taskproperties-required", High, in(definitions, ecsBlocks...), needs("taskProperties: [...]"),
			"ecsProperties needs taskProperties, which describes the task.", api("EcsProperties.taskProperties")),
		row("ecs-taskproperties-single", Medium, in(definitions, under(ecsBlocks, ".taskProperties")...),
			checkSingleTask,
			"A job is one task with up to 10 containers.", api("EcsProperties.taskProperties")),
		// The containers of a task.
		row("ecs-containers-required", High, in(tasks, ""), needed("a task", "containers: [...]"),
			"A task needs containers.", api("EcsTaskProperties.containers")),
		row("ecs-containers-min", Medium, in(tasks, "containers"),
			filled(`add one: { "name": "main", "image": "..." }`),
			"A task has at least one container.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ecs-containers-max", High, in(tasks, "containers"), atMost(10, ""),
			"A task has at most 10 containers.", tried("EcsTaskProperties.containers")),
		row("ecs-image-required", High, in(taskContainers, ""), needed("the container", "image"),
			"Every container names its image.", api("TaskContainerProperties.image")),
		check("ecs-essential-required", High, tasks, checkEssential,
			"The job ends when an essential container ends, so at least one container must be essential. Containers are essential by default.", tried("TaskContainerProperties.essential")),
		row("ecs-container-name-unique", Medium, in(tasks, "containers"),
			distinct("name", "give each container its own name"),
			"Containers of a task have different names.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("ecs-container-name-needed", Low, tasks, checkContainerNames,
			"dependsOn and overrides refer to containers by name.", derived),
		row("ecs-container-name-charset", Low, in(taskContainers, "name"),
			like(lazy(`^[A-Za-z0-9_-]{1,255}$`), "1 to 255 "+nameCharset, ""),
			"The name of a container is up to 255 letters, digits, hyphens and underscores.",
			ecsAPI+"ContainerDefinition.name"),
		// Dependencies between containers, as in a task definition of Amazon ECS.
		check("ecs-dependson-unknown", Medium, tasks, checkContainerDependencies,
			"A container waits for a container of the same task.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ecs-dependson-condition", High, in(taskContainers, "dependsOn[].condition"),
			oneOf("START", "COMPLETE", "SUCCESS"),
			"A container waits for another's START, COMPLETE or SUCCESS; AWS Batch has no HEALTHY.",
			tried("TaskContainerDependency.condition")),
		check("ecs-dependson-essential", High, tasks, checkEssentialDependencies,
			"The task ends when an essential container does, so no other can start after it.",
			tried("TaskContainerDependency.condition")),
		check("ecs-dependson-single", Medium, tasks, checkSingleContainer,
			"The only container of a task cannot wait for another.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ecs-dependson-members", Medium, in(taskContainers, "dependsOn[]"),
			needs("containerName", `condition: "START"`),
			"A dependency of a container names the other container and a condition.", tried("TaskContainerDependency")),
		check("ecs-dependson-cycle", Low, tasks, checkContainerCycle,
			"Containers that wait for each other in a cycle never start.", derived),
		// The task as a whole, and its logs.
		row("ecs-ipcmode-enum", High, in(tasks, "ipcMode"), oneOf("host", "task", "none"),
			"ipcMode selects the containers with which a task shares IPC resources, such as shared memory.",
			tried("EcsTaskProperties.ipcMode")),
		row("ecs-pidmode-enum", High, in(tasks, "pidMode"), oneOf("host", "task"),
			"pidMode selects the containers with which a task shares its process namespace.",
			tried("EcsTaskProperties.pidMode")),
		check("ecs-firelens-needs-driver", Medium, tasks, checkFirelensDriver,
			"A FireLens container routes the logs of containers with the driver awsfirelens, so at least one container needs that driver.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		warns(check("ecs-firelens-router", Medium, bodies, checkFirelensRouter,
			"The driver awsfirelens sends the log of a container to the FireLens router of its task: another container, with firelensConfiguration. containerProperties describes one container, so such a job cannot have a router.",
			"Amazon ECS Developer Guide: Send Amazon ECS logs to an AWS service or AWS Partner").
			onlyWith("logConfiguration")),
		row("ecs-firelens-type", High, in(taskContainers, "firelensConfiguration"), checkFirelensType,
			"A log router is of type fluentd or fluentbit.", tried("FirelensConfiguration.type")),
		row("ecs-starttimeout-range", Medium, in(taskContainers, "startTimeout"), atLeast(2, "it is in seconds"),
			"The start timeout of a container is at least 2 seconds.", api("TaskContainerProperties.startTimeout")),
		row("ecs-stoptimeout-range", Medium, in(taskContainers, "stopTimeout"), atLeast(2, "it is in seconds"),
			"The stop timeout of a container is at least 2 seconds.", api("TaskContainerProperties.stopTimeout")),
		// What differs between Fargate and EC2.
		row("ecs-fargate-execution-role", High, in(onFargate(tasks), ""), checkTaskExecutionRole,
			"On Fargate the execution role pulls the images and writes the logs, so a task needs executionRoleArn.",
			tried("EcsTaskProperties.executionRoleArn")),
		row("ecs-fargate-timeouts-max", Medium, in(onFargate(taskContainers), "startTimeout", "stopTimeout"),
			checkContainerTimeouts,
			"Fargate gives a container at most 120 seconds to start or stop.",
			tried("TaskContainerProperties.stopTimeout")),
		check("ecs-fargate-total-tier", Low, onFargate(tasks), checkTaskTotals,
			"All containers of a task share one Fargate task size, so the sum of their requests must be such a size.",
			derived),
		row("ecs-fargate-no-host-ipc-pid", Low, in(onFargate(tasks), "ipcMode", "pidMode"), checkHostNamespaces,
			"A task on Fargate cannot share namespaces with its host.", api("EcsTaskProperties.ipcMode and pidMode")),
		row("ecs-fargate-no-privileged", Medium, in(onFargate(taskContainers), "privileged"),
			absentTrue("does not exist on Fargate", "remove it"),
			"Fargate does not allow privileged containers.", api("TaskContainerProperties.privileged")).
			quoting("This parameter is not supported for Windows containers or tasks run on Fargate."),
		warns(row("ecs-ec2-no-networkconfiguration", Medium, in(meantForEC2(tasks), "networkConfiguration",
			"platformVersion"), absent("is for Fargate only", fargateOnly),
			"networkConfiguration and platformVersion of a task are for Fargate. AWS Batch rejects the first in containerProperties on EC2, but no published answer shows that it rejects them in ecsProperties.",
			api("EcsTaskProperties.networkConfiguration and platformVersion"))),
		warns(row("ecs-env-reserved-prefix", Medium, in(taskContainers, "environment[].name"), unreserved,
			"Names that start with AWS_BATCH belong to AWS Batch, in every container of a task. Reports of other jobs say that the job does not get such a variable.", api("TaskContainerProperties.environment")+lostVariables)),
		check("ecs-resources-required", Low, taskContainers, checkTaskResources,
			"Each container of a task requests vCPUs and memory; the job gets their sum.",
			api("TaskContainerProperties.resourceRequirements")),
	}
}

// checkSingleTask reports more or fewer tasks than one.
func checkSingleTask(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.Array) && n.Len() != 1 {
		at := n
		if n.Len() > 1 {
			at = n.Index(1)
		}
		s.Report(fmt.Sprintf("taskProperties must contain exactly one task, not %d", n.Len()),
			"put all containers into one task", at)
	}
}

// checkEssential reports a task in which every container has "essential": false. The fix
// makes the first one essential.
func checkEssential(s Site) {
	list := s.Node.Get("containers")
	for c := range list.Children() {
		if !isFalse(c.Get("essential")) {
			return
		}
	}
	if list.Len() > 0 {
		n := list.Index(0).Get("essential")
		s.ReportFix(rewrite(n, "true"), "no container of the task is essential, so the job would never end",
			`write "essential": true for the main one`, n)
	}
}

// checkContainerNames reports a container without a name if the task has several.
func checkContainerNames(s Site) {
	for _, c := range each(s.Node, "containers") {
		if s.Node.Get("containers").Len() > 1 && s.lacks(c, "name") {
			s.Report("this container needs a name, since the task has several", `add "name": "..."`, c)
		}
	}
}

// checkContainerDependencies reports a dependency on a container that the task does not
// have.
func checkContainerDependencies(s Site) {
	var names []string
	for _, c := range each(s.Node, "containers") {
		names = append(names, c.Get("name").Str())
	}
	if len(names) == 1 {
		return // it has nothing to wait for, as checkSingleContainer reports
	}
	eachDependency(s.Node, func(_, d *jsontree.Node) {
		if n := d.Get("containerName"); n.Str() != "" && !slices.Contains(names, n.Str()) {
			hint, near := "the containers are "+text.Or(names), near(n.Str(), names)
			if near != "" {
				hint = "write " + quote(near)
			}
			s.Report(fmt.Sprintf("the task has no container called %s", quote(n.Str())), hint, n)
		}
	})
}

// checkEssentialDependencies reports a container that waits for the end of an essential
// one. The condition START is allowed.
func checkEssentialDependencies(s Site) {
	eachDependency(s.Node, func(_, d *jsontree.Node) {
		n := d.Get("condition")
		for _, c := range each(s.Node, "containers") {
			if name := d.Get("containerName").Str(); name != "" && c.Get("name").
				Str() == name && !isFalse(c.Get("essential")) && (n.Str() == "COMPLETE" || n.Str() == "SUCCESS") {
				s.Report(fmt.Sprintf("%s is essential, so the task ends when it ends, and no container can wait for its %s", quote(name), n.Str()),
					fmt.Sprintf(`give %s "essential": false, or wait for its START`, quote(name)), n)
			}
		}
	})
}

// checkSingleContainer reports dependsOn in the only container of a task.
func checkSingleContainer(s Site) {
	if list := s.Node.Get("containers"); list.Len() == 1 {
		if n := list.Index(0).Get("dependsOn"); n.Len() > 0 {
			s.ReportFix(s.remove(n), "the only container of a task has nothing to wait for", "remove it", key(n))
		}
	}
}

// checkFirelensDriver reports a log router that no container of the task uses.
func checkFirelensDriver(s Site) {
	var firelens *jsontree.Node
	for _, c := range each(s.Node, "containers") {
		if c.Get("logConfiguration").Get("logDriver").Str() == "awsfirelens" {
			return
		}
		firelens = firstOf(firelens, c.Get("firelensConfiguration"))
	}
	if firelens != nil {
		s.Report("no container sends its log to this FireLens router",
			`give one "logConfiguration": { "logDriver": "awsfirelens" }`, key(firelens))
	}
}

// checkFirelensRouter reports a container that sends its log to a router, where no container is one.
func checkFirelensRouter(s Site) {
	routed := func(c *jsontree.Node) *jsontree.Node {
		if n := c.Get("logConfiguration").Get("logDriver"); n.Str() == "awsfirelens" {
			return n
		}
		return nil
	}
	first, hint := routed(s.Node),
		`write "awslogs", or describe the job in ecsProperties, with a container that has firelensConfiguration`
	for _, c := range each(s.Node, "containers") {
		if c.Get("firelensConfiguration") != nil {
			return
		}
		first, hint = firstOf(first, routed(c)),
			`write "awslogs", or add a container with "firelensConfiguration": { "type": "fluentbit" }`
	}
	if first != nil {
		s.Report("no container is a FireLens router, to which awsfirelens sends the log", hint, first)
	}
}

// checkFirelensType reports an absent or unknown type of log router.
func checkFirelensType(s Site, n *jsontree.Node, label string) {
	needs(`type: "fluentbit"`)(s, n, label)
	if t := n.Get("type"); t != nil {
		oneOf("fluentd", "fluentbit")(s, t, "the type of firelensConfiguration")
	}
}

// checkTaskExecutionRole reports a Fargate task without executionRoleArn.
func checkTaskExecutionRole(s Site, n *jsontree.Node, _ string) {
	if s.lacks(n, "executionRoleArn") {
		s.Report("a Fargate task needs executionRoleArn", roleHint, n)
	}
}

// checkContainerTimeouts reports a start or stop timeout above the 120 seconds of Fargate.
func checkContainerTimeouts(s Site, n *jsontree.Node, label string) {
	if v, ok := n.Int(); ok && v > 120 {
		s.Report(fmt.Sprintf("on Fargate %s is at most 120 seconds, not %d", label, v), "", n)
	}
}

// checkTaskTotals reports a sum of requests that is not a Fargate size. It finds nothing
// if the request of any container is absent or unreadable.
func checkTaskTotals(s Site) {
	vcpus, memory := 0.0, 0.0
	for _, c := range each(s.Node, "containers") {
		v, okV := number(requirementOf(c, "VCPU"))
		m, okM := number(requirementOf(c, "MEMORY"))
		if !okV || !okM {
			return
		}
		vcpus, memory = vcpus+v, min(memory+m, 1<<40)
	}
	if vcpus > 0 && !slices.Contains(catalog.FargateMemory(vcpus), int(memory)) {
		s.Report(fmt.Sprintf("the containers together request %s and %s, which is not a Fargate size",
			catalog.VCPUs(vcpus), catalog.MiB(int(memory))),
			fargateHint(vcpus, int(memory)), s.Node.Get("containers"))
	}
}

// checkHostNamespaces reports ipcMode and pidMode "host".
func checkHostNamespaces(s Site, n *jsontree.Node, label string) {
	if n.Str() == "host" {
		s.ReportFix(replace(n, "task"), label+" host does not exist on Fargate", `write "task"`, n)
	}
}

// checkTaskResources reports a container of a task without a request for vCPUs or memory.
func checkTaskResources(s Site) {
	s.reportRequests("the container")
}

// eachDependency visits the dependencies of all containers of a task.
func eachDependency(task *jsontree.Node, visit func(container, dependency *jsontree.Node)) {
	for _, c := range each(task, "containers") {
		for _, d := range each(c, "dependsOn") {
			visit(c, d)
		}
	}
}

// checkContainerCycle reports the first dependency that closes a cycle.
func checkContainerCycle(s Site) {
	// waits holds the containers for which each container waits, by name. The search is
	// depth first; a container that is still in progress closes a cycle.
	waits := map[string][]*jsontree.Node{}
	eachDependency(s.Node, func(c, d *jsontree.Node) {
		waits[c.Get("name").Str()] = append(waits[c.Get("name").Str()], d.Get("containerName"))
	})
	state := map[string]int{} // 1: in progress, 2: done
	found := false
	var visit func(name string)
	visit = func(name string) {
		state[name] = 1
		for _, to := range waits[name] {
			switch {
			case found || to.Str() == "":
			case state[to.Str()] == 1:
				found = true
				if to.Str() == name {
					s.Report(quote(name)+" waits for itself", "let it wait for another container", to)
				} else {
					s.Report(fmt.Sprintf("%s and %s wait for each other", quote(name), quote(to.Str())),
						"remove one of these dependencies", to)
				}
			case state[to.Str()] == 0:
				visit(to.Str())
			}
		}
		state[name] = 2
	}
	for _, c := range each(s.Node, "containers") {
		if name := c.Get("name").Str(); state[name] == 0 {
			visit(name)
		}
	}
}
