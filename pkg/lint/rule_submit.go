package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

var (
	// The forms of names and ids in the API reference (SubmitJob). jobIDPattern also
	// accepts the child of an array, ID:INDEX.
	sharePattern      = lazy(`^[A-Za-z0-9_-]{1,255}\*?$`)
	definitionPattern = lazy(`^([A-Za-z0-9_-]{1,128}(:[0-9]+)?|arn:aws[a-z-]*:batch:[a-z0-9-]+:[0-9]{12}:job-definition/[A-Za-z0-9_-]{1,128}(:[0-9]+)?)$`)
	queuePattern      = lazy(`^([A-Za-z0-9_-]{1,128}|arn:aws[a-z-]*:batch:[a-z0-9-]+:[0-9]{12}:job-queue/[A-Za-z0-9_-]{1,128})$`)
	jobIDPattern      = lazy(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(:[0-9]+)?$`)
)

const (
	// maxOverrides is the limit of RunTask in characters (Amazon ECS API reference,
	// TaskOverride). AWS Batch adds variables of its own, which overridesReserve allows for.
	maxOverrides     = 8192
	overridesReserve = 512
)

// submitRules returns the rules about SubmitJob requests, alone and compared with the
// definition that they run if it is in the files.
func submitRules() []*Rule {
	return []*Rule{
		row("submit-required", High, in(nativeSubmits, ""),
			needed("a submission", "jobName", "jobQueue", "jobDefinition"),
			"A submission needs a job name, a queue and a definition.", api("SubmitJob")),
		// Limits of the request, which AWS Batch or Amazon ECS checks.
		check("submit-size-max", High, submits, checkSubmissionSize,
			"The request that submits a job is smaller than 30 KiB.", guide("service quotas")+
				"; the service's error quoted in public repositories"),
		check("submit-overrides-8192", High, submits, checkOverridesSize,
			"Amazon ECS accepts at most 8192 characters of overrides. AWS Batch accepts a longer submission, but the job fails. AWS Batch itself adds about 512 characters.", "the failed job's reason quoted in public repositories"),
		check("submit-command-empty-string", Medium, submits, checkEmptyCommand,
			"AWS Batch rejects an empty string in the command of an override.",
			"the service's error quoted in public repositories").onlyWith("command"),
		check("submit-retry-replaces-whole", Low, submits, checkRetryReplaced,
			"A retryStrategy of a submission replaces the whole retryStrategy of the definition.",
			api("SubmitJob.retryStrategy")).onlyWith("retryStrategy"),
		warns(check("submit-legacy-override-ignored", High, submits, checkLegacyOverrides,
			"The deprecated members of an override have no effect on a definition that uses resourceRequirements.",
			api("ContainerOverrides.vcpus and memory"))).onlyWith("containerOverrides"),
		// Overrides of containers. Each kind of definition has its own kind of override.
		check("submit-override-instancetype", Low, submits, checkOverriddenInstanceType,
			"Only the nodes of a multi-node job can have an instance type.", api("ContainerOverrides.instanceType")).
			onlyWith("containerOverrides"),
		check("submit-eks-no-containeroverrides", High, submits, checkEKSContainerOverrides,
			"A job on EKS needs eksPropertiesOverride.", tried("SubmitJob.eksPropertiesOverride")).
			onlyWith("containerOverrides", "ecsPropertiesOverride", "nodeOverrides"),
		check("submit-eksoverride-only-eks", Medium, submits, checkEKSOverrides,
			"eksPropertiesOverride is for jobs on EKS.", api("SubmitJob.eksPropertiesOverride")).
			quoting("An object, with properties that override defaults for the job definition, can only be specified for jobs that are run on Amazon EKS resources.").
			onlyWith("eksPropertiesOverride"),
		check("submit-ecsoverride-only-ecs", Low, submits, checkECSOverrides,
			"ecsPropertiesOverride is for definitions with ecsProperties.", api("SubmitJob.ecsPropertiesOverride")).
			onlyWith("ecsPropertiesOverride"),
		check("submit-ecs-needs-ecsoverride", Low, submits, checkECSContainerOverrides,
			"A definition with ecsProperties needs ecsPropertiesOverride, which names the containers.",
			api("SubmitJob.containerOverrides")).onlyWith("containerOverrides"),
		row("submit-ecsoverride-single-task", Medium, in(submits, "ecsPropertiesOverride.taskProperties",
			"nodeOverrides.nodePropertyOverrides[].ecsPropertiesOverride.taskProperties"),
			atMost(1, "put all containers into one task"),
			"A job has only one task to override.", api("EcsPropertiesOverride.taskProperties")),
		check("submit-override-container-unknown", Medium, submits, checkUnknownOverrides,
			"An override names a container of the definition.", api("EksContainerOverride.name")+
				"; the error of Amazon ECS quoted in azavea/django-ecsmanage#21").
			quoting("The name must match a unique container name that you wish to override.").onlyWith("containers"),
		check("submit-nodeoverrides-only-multinode", Low, submits, checkNodeOverrides,
			"nodeOverrides is for multinode definitions.", api("SubmitJob.nodeOverrides")).onlyWith("nodeOverrides"),
		row("submit-consumable-override", Low,
			in(submits, "consumableResourcePropertiesOverride.consumableResourceList"), checkConsumableOverride,
			"A submission requests at most 5 consumable resources, each once.",
			api("SubmitJob.consumableResourcePropertiesOverride")),
		// References to definitions, shares and other jobs.
		row("submit-jobdefinition-format", Medium, in(submits, "jobDefinition"), checkDefinitionReference,
			"A definition is given by its name, by name:revision with a number, or by its ARN.",
			api("SubmitJob.jobDefinition")),
		row("submit-share-identifier-pattern", Medium, in(submits, "shareIdentifier"),
			like(sharePattern, "up to 255 "+nameCharset+", optionally with one * at the end", ""),
			"The share identifier of a job consists of letters, digits, hyphens and underscores.",
			api("SubmitJob.shareIdentifier")),
		check("array-properties-empty", Low, submits, checkArrayProperties,
			"An array needs a size.", derived).onlyWith("arrayProperties"),
		row("dep-n-to-n-needs-jobid", Low, in(submits, "dependsOn[]"), checkPairReference,
			"N_TO_N pairs the children of two arrays, so the dependency needs the id of the other array.",
			api("JobDependency")),
		row("dep-jobid-not-name", Low, in(submits, "dependsOn[].jobId"), checkDependencyID,
			"A dependency contains a job id that SubmitJob returned, not a name.", api("JobDependency.jobId")),
		row("dep-needs-jobid-or-type", Low, in(submits, "dependsOn[]"), checkDependencyEmpty,
			"A dependency needs the id of a job, or the type SEQUENTIAL for an array.", api("JobDependency")),
	}
}

// checkSubmissionSize reports a request that is too long in AWS's form.
func checkSubmissionSize(s Site) {
	if src := s.File.Source; src != nil && len(src.Text) < catalog.MaxSubmitBytes/2 {
		return // in AWS's form it is hardly longer
	}
	if n := len(s.Node.AppendJSON(nil)); n >= catalog.MaxSubmitBytes {
		s.Report(fmt.Sprintf("a submission must be smaller than %d bytes, and this one has %d", catalog.MaxSubmitBytes,
			n), "store long data in S3 and pass its location", s.NameNode())
	}
}

// checkOverridesSize reports overrides that Amazon ECS would reject. Without overrides and
// parameters, AWS Batch sends none.
func checkOverridesSize(s Site) {
	if s.Node.Get("containerOverrides") == nil && s.Node.Get("parameters") == nil &&
		s.Node.Get("nodeOverrides") == nil {
		return
	}
	r := s.resolved()
	for c := range r.changes {
		if size := r.overridesSize(c); size > maxOverrides-overridesReserve {
			s.Report(fmt.Sprintf("the overrides have %d characters; together with those that AWS Batch adds, the limit is %d", size, maxOverrides),
				fmt.Sprintf("stay below %d: store long data in S3 and pass its location",
					maxOverrides-overridesReserve),
				key(firstOf(c.over.Get("containerOverrides"), orNothing(s.Node.Get("parameters")))))
		}
	}
}

// checkEmptyCommand reports empty arguments in the commands of overrides.
func checkEmptyCommand(s Site) {
	for _, o := range overridesOf(s.Submit) {
		for n := range o.Get("command").Children() {
			if n.Is(jsontree.String) && n.Text == "" {
				s.ReportFix(s.remove(n), "an element of an overriding command is empty", "remove it", n)
			}
		}
	}
}

// checkRetryReplaced reports a retryStrategy that drops the definition's evaluateOnExit.
func checkRetryReplaced(s Site) {
	own, known := s.Own("retryStrategy"), s.Known().Get("retryStrategy")
	if own != nil && own.Get("evaluateOnExit") == nil && known.Get("evaluateOnExit").Len() > 0 {
		s.Report("this replaces the whole retryStrategy of the definition, including evaluateOnExit",
			"repeat evaluateOnExit here if you need it", own)
	}
}

// checkLegacyOverrides reports vcpus and memory in overrides. They work only for a
// definition with the same deprecated members.
func checkLegacyOverrides(s Site) {
	o, known := s.Node.Get("containerOverrides"), s.Known().Get("containerProperties")
	if s.Fargate {
		return // another rule reports that
	}
	// An override replaces a value of the same form only.
	for _, m := range [][2]string{{"vcpus", "VCPU"}, {"memory", "MEMORY"}} {
		n := o.Get(m[0])
		if n == nil || known != nil && !requires(known, m[1]) {
			continue
		}
		entry := fmt.Sprintf(`{ "type": %q, "value": %q }`, m[1], n.Text)
		site := s
		site.Node = o
		s.ReportFix(site.modernize([]*jsontree.Node{n}, entry),
			m[0]+" does not override the resourceRequirements of the definition",
			`write "resourceRequirements": [ `+entry+` ]`, key(n))
	}
}

// checkOverriddenInstanceType reports an instance type for a job that has no nodes.
func checkOverriddenInstanceType(s Site) {
	if n := s.Node.Get("containerOverrides").Get("instanceType"); n != nil {
		s.ReportFix(s.remove(n), "instanceType of an override is documented for multi-node jobs only",
			"remove it; the queue's compute environments choose the instances", key(n))
	}
}

// checkEKSContainerOverrides reports overrides of another kind for a job on EKS.
func checkEKSContainerOverrides(s Site) {
	onEKS := s.resolved().definition.onEKS()
	for c := range s.resolved().changes {
		if !onEKS && (s.Known() != nil || c.over.Get("eksPropertiesOverride") == nil) {
			continue // without a definition, the override tells whether the job is on EKS
		}
		for _, m := range []string{"containerOverrides", "ecsPropertiesOverride"} {
			if n := c.over.Get(m); n != nil {
				s.Report(m+" does not work for a job on EKS", `use "eksPropertiesOverride"`, key(n))
			}
		}
	}
	if n := s.Node.Get("nodeOverrides"); n != nil && onEKS && s.Known().Get("nodeProperties") == nil {
		s.Report("nodeOverrides does not work for a job on EKS", `use "eksPropertiesOverride"`, key(n))
	}
}

// checkEKSOverrides reports eksPropertiesOverride for a job that is not on EKS.
func checkEKSOverrides(s Site) {
	for c := range s.resolved().changes {
		if n := c.over.Get("eksPropertiesOverride"); n != nil && c.body != nil && c.body.Get("eksProperties") == nil {
			s.Report("eksPropertiesOverride is for jobs on EKS, and the definition is not on EKS",
				`use "containerOverrides" or "ecsPropertiesOverride"`, key(n))
		}
	}
}

// checkECSOverrides reports ecsPropertiesOverride for a definition without ecsProperties.
// Jobs on EKS have a rule of their own.
func checkECSOverrides(s Site) {
	for c := range s.resolved().changes {
		if n := c.over.Get("ecsPropertiesOverride"); n != nil && c.body != nil && c.body.Get("ecsProperties") == nil &&
			!s.resolved().definition.onEKS() {
			s.Report("the definition has no ecsProperties to override", `use "containerOverrides"`, key(n))
		}
	}
}

// checkECSContainerOverrides reports containerOverrides for a definition with
// ecsProperties.
func checkECSContainerOverrides(s Site) {
	for c := range s.resolved().changes {
		if n := c.over.Get("containerOverrides"); n != nil && c.body.Get("ecsProperties") != nil {
			s.Report("containerOverrides does not work for a definition with ecsProperties",
				`write "ecsPropertiesOverride": { "taskProperties": [ { "containers": [...] } ] }`, key(n))
		}
	}
}

// checkNodeOverrides reports nodeOverrides for a definition without nodes.
func checkNodeOverrides(s Site) {
	if n := s.Node.Get("nodeOverrides"); n != nil && s.Known() != nil && s.Known().
		Get("nodeProperties") == nil && !s.resolved().definition.onEKS() {
		s.Report("the definition has no nodes to override", `use "containerOverrides"`, key(n))
	}
}

// checkConsumableOverride applies the rules of definitions to the list of a submission.
func checkConsumableOverride(s Site, n *jsontree.Node, label string) {
	if sameLocation(n, s.Register.Get("consumableResourceProperties").Get("consumableResourceList")) {
		return
	}
	atMost(5, "")(s, n, label)
	distinct("consumableResource", "add the quantities up")(s, n, label)
}

// checkDefinitionReference reports a jobDefinition of an invalid form.
func checkDefinitionReference(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.String) && !sameLocation(n, s.Register.Get("jobDefinitionName")) && !definitionPattern().
		MatchString(n.Text) && !isPlaceholder(n.Text) {
		s.Report("jobDefinition must be a name, name:revision or the ARN of a definition, not "+quote(n.Str()),
			`write a name such as "train" or "train:3"`, n)
	}
}

// checkArrayProperties reports arrayProperties without a size.
func checkArrayProperties(s Site) {
	if n := s.Node.Get("arrayProperties"); n.Is(jsontree.Object) && s.lacks(n, "size") {
		s.Report("arrayProperties has no size", `add "size": 10, or remove it`, n)
	}
}

// checkPairReference reports an N_TO_N dependency without the id of a job.
func checkPairReference(s Site, n *jsontree.Node, _ string) {
	if n.Get("type").Str() == "N_TO_N" && s.lacks(n, "jobId") {
		s.Report("an N_TO_N dependency needs the jobId of another array",
			"use \"SEQUENTIAL\" to run one child after the other", n)
	}
}

// checkDependencyID reports a jobId that does not have the form of one.
func checkDependencyID(s Site, n *jsontree.Node, _ string) {
	if n.Str() != "" && !jobIDPattern().MatchString(n.Str()) && !isPlaceholder(n.Str()) {
		s.Report(quote(n.Str())+" is not a job id",
			"use an id that SubmitJob returned, or a workflow file, where dependsOn contains names", n)
	}
}

// checkDependencyEmpty reports a dependency with neither an id nor a type. A member "job",
// the form of job files, is reported elsewhere.
func checkDependencyEmpty(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.Object) && s.lacks(n, "jobId") && n.Get("type").Str() == "" && s.lacks(n, "job") {
		s.Report("the dependency has neither jobId nor type", `add "jobId", or "type": "SEQUENTIAL" for an array`, n)
	}
}

// nativeSubmits returns the submissions of native files.
var nativeSubmits = where(submits, func(s Site) bool {
	return s.File.Kind == document.KindSubmitJob ||
		s.File.Kind == document.KindJobList
})

// checkUnknownOverrides reports overrides for containers that the definition does not have, in
// tasks, pods and nodes.
func checkUnknownOverrides(s Site) {
	known := s.Known()
	names := map[string]bool{}
	add := func(body *jsontree.Node) {
		for t := range body.Get("ecsProperties").Get("taskProperties").Children() {
			for _, c := range each(t, "containers") {
				names[c.Get("name").Str()] = true
			}
		}
		for _, c := range each(body.Get("eksProperties").Get("podProperties"), "initContainers", "containers") {
			names[podName(c)] = true
		}
	}
	add(known)
	for g := range known.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		add(g)
	}
	if len(names) == 0 {
		return
	}
	visit := func(n *jsontree.Node) {
		if n.Str() != "" && !names[n.Str()] {
			s.Report(fmt.Sprintf("the definition has no container %s", quote(n.Str())), nearName(n.Str(), names), n)
		}
	}
	for _, at := range []string{
		"ecsPropertiesOverride.taskProperties[].containers[].name",
		"eksPropertiesOverride.podProperties.containers[].name",
		"eksPropertiesOverride.podProperties.initContainers[].name",
		"nodeOverrides.nodePropertyOverrides[].ecsPropertiesOverride.taskProperties[].containers[].name",
		"nodeOverrides.nodePropertyOverrides[].eksPropertiesOverride.podProperties.containers[].name",
	} {
		path(at).walk(s.Node, visit)
	}
}
