"""The requests of programs that run jobs on AWS Batch, in their order and shape, against the engine of the environment.

    tools.py NAME

Each function below is one program. What it sends is written after what the program sends: with the members that it
fills but does not use, and the identifiers that it keeps. toil runs Toil's own batch system.
"""

import functools
import json
import os
import sys
import time

import boto3
import botocore.waiter
from botocore.exceptions import ClientError, WaiterError

# Old versions of boto3 read no endpoint from the environment.
batch = boto3.client("batch", endpoint_url=os.environ["AWS_ENDPOINT_URL_BATCH"])
logs = boto3.client("logs", endpoint_url=os.environ["AWS_ENDPOINT_URL_CLOUDWATCH_LOGS"])
ecs = boto3.client("ecs", endpoint_url=os.environ["AWS_ENDPOINT_URL_ECS"])

STATUSES = ["SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED"]
DAY_AGO = str(int(time.time() - 86400) * 1000)


def container(*command, **more):
    return dict({"image": "busybox", "command": list(command), "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}, **more)


def register(name, *command, **more):
    return batch.register_job_definition(jobDefinitionName=name, type="container", containerProperties=container(*command, **more))["jobDefinitionArn"]


def job(id):
    return batch.describe_jobs(jobs=[id])["jobs"][0]


def ended(*ids):
    """Waits as a program does that polls."""
    for _ in range(600):
        jobs = batch.describe_jobs(jobs=list(ids))["jobs"]
        if all(j["status"] in ("SUCCEEDED", "FAILED") for j in jobs):
            return jobs
        time.sleep(0.1)
    raise TimeoutError(f"{[(j['jobName'], j['status']) for j in jobs]}")


def messages(group, stream):
    return [e["message"] for e in logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=True)["events"]]


def same(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, want {want!r}")


def refused(text, call, **request):
    """Checks that a call fails with a text of AWS."""
    try:
        call(**request)
    except ClientError as problem:
        if text in problem.response["Error"]["Message"]:
            return
        raise
    raise AssertionError(f"the request is accepted, want {text}")


def waiter(name, *acceptors):
    waiters = {name: {"operation": "DescribeJobs", "delay": 0.1, "maxAttempts": 300, "acceptors": [
        dict(zip(("matcher", "argument", "expected", "state"), a)) for a in acceptors]}}
    return botocore.waiter.create_waiter_with_client(name, botocore.waiter.WaiterModel({"version": 2, "waiters": waiters}), batch)


def airflow():
    """BatchOperator: empty members with each job; its three waiters; logs where the description says."""
    register("airflow", "echo", "Ref::who", logConfiguration={"logDriver": "awslogs", "options": {"awslogs-group": "/airflow"}})
    register("fails", "sh", "-c", "exit 3")
    exists = waiter("JobExists", ("path", "jobs[].status | length(@) > `0`", True, "success"))
    running = waiter("JobRunning", *[("pathAny", "jobs[].status", s, "retry") for s in STATUSES[:4]],
                     *[("pathAll", "jobs[].status", s, "success") for s in STATUSES[4:]])
    complete = waiter("JobComplete", ("pathAll", "jobs[].status", "SUCCEEDED", "success"), ("pathAny", "jobs[].status", "FAILED", "failure"))
    empty = {"arrayProperties": {}, "containerOverrides": {}, "tags": {}}
    id = batch.submit_job(jobName="a", jobQueue="default", jobDefinition="airflow", parameters={"who": "airflow"}, **empty)["jobId"]
    for w in exists, running, complete:
        w.wait(jobs=[id])
    c = job(id)["container"]
    same(messages(c["logConfiguration"]["options"]["awslogs-group"], c["logStreamName"]), ["airflow"])
    id = batch.submit_job(jobName="f", jobQueue="default", jobDefinition="fails", parameters={}, retryStrategy={"attempts": 2}, **empty)["jobId"]
    try:
        complete.wait(jobs=[id])
        raise AssertionError("the waiter does not see the failure")
    except WaiterError as problem:
        same([a["container"]["exitCode"] for a in problem.last_response["jobs"][0]["attempts"]], [3, 3])
    id = batch.submit_job(jobName="n", jobQueue="default", jobDefinition="airflow", parameters={"who": "x"}, arrayProperties={"size": 3})["jobId"]
    complete.wait(jobs=[id])
    same(job(id)["arrayProperties"]["statusSummary"]["SUCCEEDED"], 3)


def parallelcluster():
    """awsbsub, -stat, -out, -queues, -hosts, -kill: an empty token for page one, queues by ARN."""
    register("pc", "sh", "-c", "echo one; echo two; echo three")
    register("pc-long", "sleep", "600")
    queue = batch.describe_job_queues(jobQueues=["default"])["jobQueues"][0]
    ids = [batch.submit_job(jobName=f"j{i}", jobQueue=queue["jobQueueArn"], jobDefinition="pc", dependsOn=[], retryStrategy={"attempts": 1})["jobId"] for i in range(3)]
    array = batch.submit_job(jobName="array", jobQueue=queue["jobQueueArn"], jobDefinition="pc:1", arrayProperties={"size": 2}, dependsOn=[{"jobId": ids[0]}])["jobId"]
    ended(*ids, array)
    found = []
    for status in STATUSES:
        token = ""
        while token is not None:
            page = batch.list_jobs(jobQueue=queue["jobQueueArn"], jobStatus=status, nextToken=token, maxResults=2)
            found += [j["jobId"] for j in page["jobSummaryList"]]
            token = page.get("nextToken")
    same(sorted(found), sorted(ids + [array]))
    same(len(batch.list_jobs(arrayJobId=array, jobStatus="SUCCEEDED", nextToken="")["jobSummaryList"]), 2)
    stream = job(array + ":1")["container"]["logStreamName"]
    same([e["message"] for e in logs.get_log_events(logGroupName="/aws/batch/job", logStreamName=stream, startFromHead=True, limit=2)["events"]], ["one", "two"])
    same([e["message"] for e in logs.get_log_events(logGroupName="/aws/batch/job", logStreamName=stream, startFromHead=False, limit=2)["events"]], ["two", "three"])
    running = batch.submit_job(jobName="k", jobQueue="default", jobDefinition="pc-long")["jobId"]
    while job(running)["status"] != "RUNNING":
        time.sleep(0.1)
    environment = queue["computeEnvironmentOrder"][0]["computeEnvironment"]
    same(hosts(environment), [("ACTIVE", "local", 1, 0, (8, 16384), (7, 16384 - 64))])
    batch.terminate_job(jobId=running, reason="Terminated by the user")
    same(ended(running)[0]["statusReason"], "Terminated by the user")
    same(hosts(environment), [("ACTIVE", "local", 0, 0, (8, 16384), (8, 16384))])


def hosts(environment):
    """What awsbhosts shows of the container instances of an environment, apart from what EC2 knows."""
    found = []
    for e in batch.describe_compute_environments(computeEnvironments=[environment], nextToken="")["computeEnvironments"]:
        for page in ecs.get_paginator("list_container_instances").paginate(cluster=e["ecsClusterArn"]):
            for i in ecs.describe_container_instances(cluster=e["ecsClusterArn"], containerInstances=page["containerInstanceArns"])["containerInstances"]:
                amounts = [{r["name"]: r["integerValue"] for r in i[of]} for of in ("registeredResources", "remainingResources")]
                kind = [a["value"] for a in i["attributes"] if a["name"] == "ecs.instance-type"][0]
                same(i["ec2InstanceId"][:2], "i-")
                found.append((i["status"], kind, i["runningTasksCount"], i["pendingTasksCount"], *((a["CPU"] // 1024, a["MEMORY"]) for a in amounts)))
    return found


def torchx():
    """aws_batch scheduler: keeps the ARN of a job, and describes and cancels by it."""
    register("torchx", "sleep", "600")
    arn = batch.submit_job(jobName="t", jobQueue="default", jobDefinition="torchx", tags={"torchx.pytorch.org/version": "0.7"}, propagateTags=True)["jobArn"]
    same(job(arn)["jobArn"], arn)
    batch.terminate_job(jobId=arn, reason="torchx SDK cancelled job")
    same(ended(arn)[0]["statusReason"], "torchx SDK cancelled job")
    before = batch.submit_job(jobName="d", jobQueue="default", jobDefinition="torchx")["jobArn"]
    arn = batch.submit_job(jobName="c", jobQueue="default", jobDefinition="torchx", dependsOn=[{"jobId": before}])["jobArn"]
    batch.cancel_job(jobId=arn, reason="by ARN")
    same((job(arn)["status"], job(arn)["isCancelled"]), ("PENDING", True))
    batch.terminate_job(jobId=before, reason="its dependency")  # a PENDING job ends only after these
    same(ended(arn)[0]["statusReason"], "by ARN")
    names = [j["jobName"] for q in batch.get_paginator("describe_job_queues").paginate() for v in q["jobQueues"]
             for p in batch.get_paginator("list_jobs").paginate(jobQueue=v["jobQueueName"], filters=[{"name": "AFTER_CREATED_AT", "values": [DAY_AGO]}]) for j in p["jobSummaryList"]]
    same(sorted(names), ["c", "d", "t"])


def nextflow():
    """Task handler: finds its definition by a parameter, log group of its own, retries by reason."""
    request = dict(jobDefinitionName="nf-busybox", type="container", parameters={"nf-token": "1a2b"}, containerProperties=container(
        "true", logConfiguration={"logDriver": "awslogs", "options": {"awslogs-region": "local", "awslogs-group": "/nf"}},
        mountPoints=[{"sourceVolume": "vol1", "containerPath": "/tmp", "readOnly": True}], volumes=[{"name": "vol1", "host": {"sourcePath": "/tmp"}}]))

    def find():
        return [d for d in batch.describe_job_definitions(jobDefinitionName="nf-busybox", status="ACTIVE")["jobDefinitions"] if d["parameters"].get("nf-token") == "1a2b"]

    same(find(), [])
    made = batch.register_job_definition(**request)
    name = f"{made['jobDefinitionName']}:{made['revision']}"
    same([d["revision"] for d in find()], [made["revision"]])
    ids = [batch.submit_job(jobName=f"task{i}", jobQueue="default", jobDefinition=name, timeout={"attemptDurationSeconds": 60}, containerOverrides={
        "command": ["sh", "-c", f"echo task {i}"], "environment": [{"name": "AWS_RETRY_MODE", "value": "adaptive"}],
        "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "128"}]},
        retryStrategy={"attempts": 5, "evaluateOnExit": [{"onStatusReason": "Host EC2*", "action": "RETRY"}, {"onReason": "*", "action": "EXIT"}]})["jobId"] for i in range(9)]
    for j in ended(*ids):
        same(messages("/nf", j["container"]["logStreamName"]), ["task " + j["jobName"][4:]])
        same(j["attempts"][0]["container"]["exitCode"], 0)
    batch.deregister_job_definition(jobDefinition=name)
    same(find(), [])


def metaflow():
    """Job client: the compute environments behind the queue, shared memory, tags, list and kill."""
    queue = batch.describe_job_queues(jobQueues=["default"])["jobQueues"][0]
    environments = batch.describe_compute_environments(computeEnvironments=[e["computeEnvironment"] for e in queue["computeEnvironmentOrder"]])["computeEnvironments"]
    same([e["computeResources"]["type"] for e in environments], ["EC2"])
    definition = batch.register_job_definition(jobDefinitionName="metaflow_0a", type="container", propagateTags=True, tags={"app": "metaflow"}, containerProperties=container(
        "echo", "x", jobRoleArn="arn:aws:iam::123456789012:role/r", linuxParameters={"sharedMemorySize": 64, "maxSwap": 64, "swappiness": 10}))["jobDefinitionArn"]
    id = batch.submit_job(jobName="step", jobQueue=queue["jobQueueArn"], jobDefinition=definition, retryStrategy={"attempts": 1}, timeout={"attemptDurationSeconds": 60}, parameters={},
                          tags={"metaflow.run_id": "1"}, propagateTags=True, containerOverrides={"command": ["sh", "-c", "echo $RUN"], "environment": [{"name": "RUN", "value": "run 1"}]})["jobId"]
    j = ended(id)[0]
    same((j["status"], j["tags"]["metaflow.run_id"], messages("/aws/batch/job", j["container"]["logStreamName"])), ("SUCCEEDED", "1", ["run 1"]))
    same([s["jobId"] for status in STATUSES for s in batch.list_jobs(jobQueue="default", jobStatus=status)["jobSummaryList"]], [id])


def cromwell():
    """Definition by hash, logs, cancels. As processes, its job with /cromwell_root does not start."""
    # Cromwell mounts a directory of the host at another path, which only a container can have. So one job checks that this is
    # reported, and the rest runs without the volume.
    volume = dict(volumes=[{"name": "local-disk", "host": {"sourcePath": "/tmp"}}], mountPoints=[{"sourceVolume": "local-disk", "containerPath": "/cromwell_root"}])
    rest = dict(logConfiguration={"logDriver": "awslogs", "options": {"awslogs-group": "/cromwell"}}, privileged=False,
                ulimits=[{"name": "nofile", "softLimit": 1024, "hardLimit": 1024}], environment=[{"name": "AWS_CROMWELL_PATH", "value": "a/b"}])
    ids = []
    for name, more in ("cromwell_busybox_4f2a", volume), ("cromwell_busybox_51c0", {}):
        register(name, "sh", "-c", "echo out; exit 4", **rest, **more)
        definition = batch.describe_job_definitions(jobDefinitionName=name, status="ACTIVE")["jobDefinitions"][0]["jobDefinitionArn"]
        ids.append(batch.submit_job(jobName="wf-call", jobQueue="default", jobDefinition=definition, retryStrategy={"attempts": 1}, timeout={"attemptDurationSeconds": 100000},
                                    dependsOn=[], parameters={}, containerOverrides={"environment": [], "command": [], "resourceRequirements": []})["jobId"])
    mounted, j = ended(*ids)
    reason = mounted["container"]["reason"]
    same((mounted["status"], "exitCode" in mounted["container"], reason.split(": a process")[0]), ("FAILED", False, "ResourceInitializationError: mount point /cromwell_root"))
    same((j["status"], j["container"]["exitCode"], j["statusReason"]), ("FAILED", 4, "Essential container in task exited"))
    same(messages("/cromwell", j["container"]["logStreamName"]), ["out"])
    for id in ids:
        batch.cancel_job(jobId=id, reason="cancel")  # of one that has ended: no error
        batch.terminate_job(jobId=id, reason="cromwell abort called")


def snakemake():
    """Executor plugin: a definition for each job, polls, deregisters; a priority without a policy."""
    for name, command, status in ("ok", "true", "SUCCEEDED"), ("bad", "exit 5", "FAILED"):
        arn = batch.register_job_definition(jobDefinitionName=f"snakejob-def-{name}", type="container", platformCapabilities=["EC2"], tags={"run": "1"}, timeout={"attemptDurationSeconds": 300},
                                            containerProperties=container("sh", "-c", command, jobRoleArn="arn:aws:iam::123456789012:role/r", linuxParameters={"sharedMemorySize": 64}))["jobDefinitionArn"]
        id = batch.submit_job(jobName=f"snakejob-{name}", jobQueue="default", jobDefinition=arn, tags={"run": "1"})["jobId"]
        same(ended(id)[0]["status"], status)
        batch.deregister_job_definition(jobDefinition=arn)
    refused("can only be submitted to job queue with fair share scheduling policy", batch.submit_job, jobName="p", jobQueue="default", jobDefinition=register("p", "true"), schedulingPriorityOverride=1)
    refused("does not exist or is not in ACTIVE status", batch.submit_job, jobName="p", jobQueue="default", jobDefinition="snakejob-def-ok")


def luigi():
    """BatchTask: the first active queue, a definition from JSON, the last line of a failed job."""
    queue = [q for q in batch.describe_job_queues()["jobQueues"] if q["state"] == "ENABLED" and q["status"] == "VALID"][0]["jobQueueName"]
    batch.register_job_definition(**json.loads(json.dumps({"type": "container", "jobDefinitionName": "luigi", "containerProperties": container("sh", "-c", "echo last; exit 1"), "parameters": {}})))
    id = batch.submit_job(jobName="luigi", jobQueue=queue, jobDefinition="luigi", parameters={})["jobId"]
    same(ended(id)[0]["status"], "FAILED")
    stream = job(id)["attempts"][-1]["container"]["logStreamName"]
    same(logs.get_log_events(logGroupName="/aws/batch/job", logStreamName=stream, startFromHead=False, limit=50)["events"][-1]["message"], "last")


def terraform():
    """The provider's resources: create, read, update and delete, with the values that its acceptance tests expect of AWS."""
    def environment(name):
        return batch.describe_compute_environments(computeEnvironments=[name])["computeEnvironments"][0]

    def update(**resources):
        batch.update_compute_environment(computeEnvironment="tf", computeResources=dict({"maxvCpus": 4}, **resources))
        e = environment("tf")
        same(e["status"], "VALID")
        return e["computeResources"]

    resources = {"type": "EC2", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": ["optimal"], "instanceRole": "arn:aws:iam::123456789012:instance-profile/ecs",
                 "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"], "ec2KeyPair": "key", "launchTemplate": {"launchTemplateId": "lt-12345678", "version": "1"}}
    batch.create_compute_environment(computeEnvironmentName="tf", type="MANAGED", state="ENABLED", serviceRole="", tags={}, computeResources=resources)
    same(environment("tf").get("updatePolicy"), None)
    batch.update_compute_environment(computeEnvironment="tf", updatePolicy={"jobExecutionTimeoutMinutes": 60, "terminateJobsOnUpdate": True})
    same(environment("tf")["updatePolicy"], {"jobExecutionTimeoutMinutes": 60, "terminateJobsOnUpdate": True})
    same([update(minvCpus=least)["desiredvCpus"] for least in (0, 4, 2)], [0, 4, 4])
    changed = update(launchTemplate={"launchTemplateId": ""}, ec2KeyPair="", tags={})
    same([changed.get(m) for m in ("launchTemplate", "ec2KeyPair")], [None, None])
    queue = batch.create_job_queue(jobQueueName="tf", state="ENABLED", priority=1, computeEnvironmentOrder=[{"order": 0, "computeEnvironment": environment("tf")["computeEnvironmentArn"]}])["jobQueueArn"]
    batch.update_job_queue(jobQueue=queue, priority=2, jobStateTimeLimitActions=[])
    same(batch.describe_job_queues(jobQueues=[queue])["jobQueues"][0]["priority"], 2)
    empty = {"environment": [], "mountPoints": [], "resourceRequirements": [], "secrets": [], "ulimits": [], "volumes": []}
    plain = {"image": "busybox", "command": ["true"], "vcpus": 1, "memory": 128}
    arn = batch.register_job_definition(jobDefinitionName="tf", type="multinode", nodeProperties={"mainNode": 0, "numNodes": 2, "nodeRangeProperties": [
        {"targetNodes": "0:", "container": plain}, {"targetNodes": "1:", "container": plain}]})["jobDefinitionArn"]
    ranges = batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"][0]["nodeProperties"]["nodeRangeProperties"]
    same([r["container"] for r in ranges], [dict(plain, **empty)] * 2)
    amounts = [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "128"}]
    several = {"taskProperties": [{"ipcMode": "none", "containers": [
        {"name": "c1", "image": "busybox", "command": ["true"], "essential": True, "dependsOn": [{"containerName": "c2", "condition": "START"}], "resourceRequirements": amounts},
        {"name": "c2", "image": "busybox", "command": ["sleep", "60"], "essential": False, "resourceRequirements": amounts}]}]}
    arn = batch.register_job_definition(jobDefinitionName="tf", type="multinode", nodeProperties={"mainNode": 0, "numNodes": 1, "nodeRangeProperties": [
        {"targetNodes": "0:", "ecsProperties": several, "instanceTypes": ["t3.micro"]}]})["jobDefinitionArn"]
    task = batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"][0]["nodeProperties"]["nodeRangeProperties"][0]["ecsProperties"]["taskProperties"][0]
    same([(c["name"], c["essential"], c["environment"], len(c["dependsOn"])) for c in task["containers"]], [("c1", True, [], 1), ("c2", False, [], 0)])
    id = batch.submit_job(jobName="tf", jobQueue="default", jobDefinition=arn)["jobId"]
    same(ended(id)[0]["status"], "SUCCEEDED")
    same([c.get("exitCode") for c in job(id + "#0")["ecsProperties"]["taskProperties"][0]["containers"]], [0, 143])
    arn = batch.register_job_definition(jobDefinitionName="tf", type="container", containerProperties=dict(plain, environment=[
        {"name": "EMPTY", "value": ""}, {"name": "VALUE", "value": "value"}]))["jobDefinitionArn"]
    same(batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"][0]["containerProperties"]["environment"], [{"name": "VALUE", "value": "value"}])
    batch.tag_resource(resourceArn=arn, tags={"key": "value"})
    batch.untag_resource(resourceArn=arn, tagKeys=["key"])
    same(batch.list_tags_for_resource(resourceArn=arn)["tags"], {})
    for revision in batch.describe_job_definitions(jobDefinitionName="tf", status="ACTIVE")["jobDefinitions"]:
        batch.deregister_job_definition(jobDefinition=revision["jobDefinitionArn"])
    batch.update_job_queue(jobQueue=queue, state="DISABLED")
    batch.delete_job_queue(jobQueue=queue)
    batch.update_compute_environment(computeEnvironment="tf", state="DISABLED")
    batch.delete_compute_environment(computeEnvironment="tf")
    same(batch.describe_compute_environments(computeEnvironments=["tf"])["computeEnvironments"], [])
    refused("does not exist", batch.update_compute_environment, computeEnvironment="tf", state="DISABLED")


def toil():
    """AWSBatchBatchSystem, its own code: two jobs, one that fails, one that is killed; shutdown."""
    import toil.batchSystems.awsBatch as system
    import toil.lib.aws.session as session
    from toil.common import Config
    from toil.job import Job, JobDescription

    made = session.establish_boto3_session
    system.establish_boto3_session = lambda region: Endpoint(made(region))
    system.applianceSelf = lambda: "quay.io/ucsc_cgl/toil:5.9.2"  # it would ask the registry
    system.pack_job = lambda described, script: ["sh", "-c", described.command]  # not its executor, which is in its image
    config = Config()
    config.setOptions(Job.Runner.getDefaultOptions("file:store"))
    config.aws_batch_region, config.aws_batch_queue, config.aws_batch_job_role_arn = os.environ["AWS_REGION"], "default", "arn:aws:iam::123456789012:role/r"
    config.workflowID = "foreign"
    it = system.AWSBatchBatchSystem(config, maxCores=4, maxMemory=8 << 30, maxDisk=8 << 30)

    def issue(name, command):
        described = JobDescription(requirements={"memory": 64 << 20, "cores": 1, "disk": 1 << 20, "preemptible": False, "accelerators": []}, jobName=name)
        described.command = command
        return it.issueBatchJob(described, {"TOIL": name})

    ids = {issue("good", "test $TOIL = good"): 0, issue("bad", "exit 9"): 9}
    while ids:
        done = it.getUpdatedBatchJob(60)
        same(done.exitStatus, ids.pop(done.jobID))
    long = issue("long", "sleep 600")
    while long not in it.getRunningBatchJobIDs():
        time.sleep(0.1)
    it.killBatchJobs([long])
    same(it.getRunningBatchJobIDs(), {})
    it.shutdown()
    same([d["status"] for d in batch.describe_job_definitions()["jobDefinitions"]], ["INACTIVE"])


class Endpoint:
    """A session whose clients call the engine: its boto3 reads no endpoint from the environment."""

    def __init__(self, session):
        self.client = functools.partial(session.client, endpoint_url=os.environ["AWS_ENDPOINT_URL_BATCH"])


def refusals():
    """Two filters, two values of a filter, and a definition that does not exist: AWS's own words."""
    for filters, text in ([{"name": "JOB_NAME", "values": ["a"]}, {"name": "JOB_DEFINITION", "values": ["b"]}], "Only one filter key-value pair can be specified."), (
            [{"name": "JOB_NAME", "values": ["a", "b"]}], "Filter cannot take more than one value."):
        refused("Error executing request, Exception : " + text, batch.list_jobs, jobQueue="default", filters=filters)
    refused("does not exist or is not in ACTIVE status", batch.submit_job, jobName="x", jobQueue="default", jobDefinition="missing")


def secrets():
    """A job whose secret the engine lacks: it does not run without it."""
    register("secretive", "sh", "-c", "echo ran", executionRoleArn="arn:aws:iam::123456789012:role/r",
             secrets=[{"name": "TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:missing"}])
    j = ended(batch.submit_job(jobName="s", jobQueue="default", jobDefinition="secretive")["jobId"])[0]
    same((j["status"], j["container"]["reason"].split(":")[0]), ("FAILED", "ResourceInitializationError"))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
