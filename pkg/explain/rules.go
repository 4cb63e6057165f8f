package explain

// Rules are the causes, the more special before the more general: of verdicts that
// are equally sure the first counts.
func Rules() []Rule {
	return []Rule{
		// Jobs that failed.
		{"failed-dependency", "A job that it depends on failed.", []string{evidenceDependencies}, false, failedDependency},
		{"state-time-limit", "The queue ended it because it waited too long for the same reason.", nil, false, stateTimeLimit},
		{"stopped", "It was cancelled or terminated.", nil, false, stopped},
		{"spot-reclaim", "It lost its instance.", nil, false, spotReclaim},
		{"timeout", "An attempt took longer than the job's timeout.", nil, false, timedOut},
		{"secrets-not-readable", "The execution role could not read a secret.", nil, false, secretsNotReadable},
		{"overrides-too-long", "The overrides of its submission are longer than Amazon ECS accepts.", nil, false, overridesTooLong},
		{"log-stream-missing", "Its log could not be opened, so the container did not start.", nil, false, logStreamMissing},
		{"role-not-assumable", "ECS could not assume the job role or the execution role.", nil, false, roleNotAssumable},
		{"wrong-architecture", "The image, or a program, is built for another CPU architecture.", nil, false, wrongArchitecture},
		{"image-not-found", "The image does not exist.", nil, false, imageNotFound},
		{"image-rate-limit", "The registry limits how often images are pulled.", nil, false, imageRateLimit},
		{"image-no-access", "The registry does not allow the instance or the execution role to pull.", nil, false, imageNoAccess},
		{"image-no-route", "The registry cannot be reached from the subnet.", nil, false, imageNoRoute},
		{"registry-login-failed", "ECS could not log in to ECR.", nil, false, registryLogin},
		{"out-of-disk", "The disk was full.", nil, false, outOfDisk},
		{"image-not-pulled", "The image could not be pulled, for another reason.", nil, true, imageNotPulled},
		{"gpu-driver-old", "The GPU driver is too old for the CUDA version of the image or program.", nil, false, gpuDriverOld},
		{"gpu-access-lost", "The container lost access to its GPU.", nil, false, gpuAccessLost},
		{"gpu-driver-missing", "The instance has no working GPU driver.", nil, false, gpuDriverMissing},
		{"out-of-memory", "It used more memory than it requested.", nil, false, outOfMemory},
		{"missing-command", "The command was not found, or cannot be executed.", nil, false, missingCommand},
		{"cell-not-read", "The launcher of an array could not read the child's cell or command list, so its program did not start.", nil, false, cellNotRead},
		{"inputs-not-brought", "Its inputs could not be downloaded, so its program did not start.", nil, false, inputsNotBrought},
		{"outputs-not-carried", "Its program succeeded, but its outputs could not be uploaded.", nil, false, outputsNotCarried},
		{"network-interface", "The network interface of the task did not come up.", nil, false, networkInterface},
		{"container-not-stopped", "The agent could not stop or clean up the container after its program.", nil, true, containerNotStopped},
		{"container-not-started", "The container could not be started, for another reason.", nil, true, containerNotStarted},
		{"exit-code", "The job's own program failed.", nil, true, exitCode},

		// Jobs that wait.
		{"dependency-pending", "It waits for other jobs.", []string{evidenceDependencies}, false, dependencyPending},
		{"children-pending", "It is an array whose children are in progress.", nil, false, childrenPending},
		{"queue-disabled", "The job queue is DISABLED or INVALID.", []string{evidenceQueue}, false, queueDisabled},
		{"environment-invalid", "The compute environments that could run it are INVALID.", []string{evidenceEnvironments}, false, environmentInvalid},
		{"environment-disabled", "The compute environments that could run it are DISABLED.", []string{evidenceEnvironments}, false, environmentDisabled},
		{"over-maxvcpus", "It requests more vCPUs than the maxvCpus of any compute environment.", []string{evidenceEnvironments}, false, overMaxvCpus},
		{"cannot-fit", "It does not fit any instance type of the queue.", []string{evidenceEnvironments}, false, cannotFit},
		{"consumable-lacking", "A consumable resource that it requests is used up or does not exist.", []string{evidenceConsumables}, false, consumableLacking},
		{"ec2-quota", "The account's quota of EC2 vCPUs is used up.", []string{evidenceScaling}, false, ec2Quota},
		{"no-capacity", "EC2 has no capacity for the instances.", []string{evidenceScaling}, false, noCapacity},
		{"launch-refused", "EC2 rejects the launch of the instances.", []string{evidenceScaling}, false, launchRefused},
		{"service-role", "The service role lacks a permission.", nil, false, serviceRole},
		{"agent-not-registered", "Instances run, but their ECS agents never registered.", []string{evidenceScaling, evidenceInstances, evidenceCluster}, false, agentNotRegistered},
		{"fair-share", "Other shares of the queue are ahead of it.", []string{evidenceSnapshot}, false, fairShare},
		{"behind-others", "Other jobs in the queue are ahead of it.", []string{evidenceSnapshot}, false, behindOthers},
		{"at-maxvcpus", "The compute environments have reached maxvCpus.", []string{evidenceEnvironments}, false, atMaxvCpus},
	}
}
