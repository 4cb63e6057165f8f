// The AWS SDKs for JavaScript: node sdk.js 3|2. Version 3 has paginators and no waiters for AWS Batch.
const assert = require("assert")
const env = process.env
const container = (...command) => ({ image: "busybox", command, resourceRequirements: [{ type: "VCPU", value: "1" }, { type: "MEMORY", value: "64" }] })

async function version3() {
  const sdk = require("@aws-sdk/client-batch"), cloudwatch = require("@aws-sdk/client-cloudwatch-logs")
  const batch = new sdk.BatchClient({}), logs = new cloudwatch.CloudWatchLogsClient({})
  return {
    lacks: [],
    call: (name, input) => batch.send(new sdk[name + "Command"](input)),
    events: input => logs.send(new cloudwatch.GetLogEventsCommand(input)),
    async pages() {
      const waiters = Object.keys(sdk).filter(name => name.startsWith("wait"))
      assert.deepStrictEqual(waiters, [], "the SDK has waiters now: use them here")
      const inputs = { ListJobs: { jobQueue: "default", filters: [{ name: "JOB_NAME", values: ["*"] }] }, ListJobsByConsumableResource: { consumableResource: "licence" } }
      const counts = {}
      for (const name of Object.keys(sdk).filter(name => name.startsWith("paginate") && !/Service|Quota/.test(name)).map(name => name.slice(8))) {
        counts[name] = 0
        for await (const page of sdk["paginate" + name]({ client: batch, pageSize: 2 }, inputs[name] || {}))
          counts[name] += Object.values(page).filter(Array.isArray).reduce((n, list) => n + list.length, 0)
      }
      return counts
    },
    async token() { await batch.send(new sdk.ListJobsCommand({ jobQueue: "default", nextToken: "", jobStatus: "SUCCEEDED" })) },
  }
}

async function version2() {
  env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = "1"
  const AWS = require("aws-sdk")
  const batch = new AWS.Batch({ endpoint: env.AWS_ENDPOINT_URL_BATCH, region: env.AWS_REGION })
  const logs = new AWS.CloudWatchLogs({ endpoint: env.AWS_ENDPOINT_URL_CLOUDWATCH_LOGS, region: env.AWS_REGION })
  const lower = name => name[0].toLowerCase() + name.slice(1)
  const all = { DescribeComputeEnvironments: {}, DescribeJobDefinitions: {}, DescribeJobQueues: {}, ListConsumableResources: {}, ListSchedulingPolicies: {},
    ListJobs: { jobQueue: "default", filters: [{ name: "JOB_NAME", values: ["*"] }] }, ListJobsByConsumableResource: { consumableResource: "licence" } }
  return {
    lacks: Object.keys(all).filter(name => !batch[lower(name)]), // it no longer gets new operations
    call: (name, input) => batch[lower(name)](input).promise(),
    events: input => logs.getLogEvents(input).promise(),
    async pages() {
      const counts = {}
      for (const [name, input] of Object.entries(all).filter(([name]) => batch[lower(name)])) {
        counts[name] = await new Promise((done, fail) => {
          let n = 0
          batch[lower(name)]({ ...input, maxResults: 2 }).eachPage((err, page) => {
            if (err) fail(err)
            else if (!page) done(n)
            else n += Object.values(page).filter(Array.isArray).reduce((n, list) => n + list.length, 0)
          })
        })
      }
      return counts
    },
    async token() { await batch.listJobs({ jobQueue: "default", nextToken: "", jobStatus: "SUCCEEDED" }).promise() },
  }
}

async function main() {
  const { lacks, call, events, pages, token } = await (process.argv[2] === "2" ? version2() : version3())
  await call("RegisterJobDefinition", { jobDefinitionName: "js", type: "container", containerProperties: container("sh", "-c", "echo $TEXT"), tags: { "a b": "ü/=+-@" } })
  const consumables = !lacks.includes("ListConsumableResources")
  if (consumables) await call("CreateConsumableResource", { consumableResourceName: "licence", totalQuantity: 9 })
  await call("CreateSchedulingPolicy", { name: "even", fairsharePolicy: {} })
  const one = { jobQueue: "default", jobDefinition: "js", containerOverrides: { environment: [{ name: "TEXT", value: "Grüße 🚀" }] } }
  const jobs = []
  for (let i = 0; i < 5; i++) jobs.push((await call("SubmitJob", { ...one, jobName: "j" + i, arrayProperties: {}, dependsOn: [], nodeOverrides: undefined })).jobId)
  const array = (await call("SubmitJob", { ...one, jobName: "array", arrayProperties: { size: 120 } })).jobId
  const after = (await call("SubmitJob", { ...one, jobName: "after", dependsOn: [{ jobId: array }],
    ...(consumables && { consumableResourcePropertiesOverride: { consumableResourceList: [{ consumableResource: "licence", quantity: 1 }] } }) })).jobId
  for (let i = 0; ; i++) {
    const { jobs: now } = await call("DescribeJobs", { jobs: [...jobs, array, after] })
    if (now.every(j => j.status === "SUCCEEDED")) break
    assert(i < 600 && !now.some(j => j.status === "FAILED"), JSON.stringify(now.map(j => [j.jobName, j.status, j.statusReason])))
    await new Promise(done => setTimeout(done, 100))
  }
  const { jobs: [{ container: { logStreamName } }] } = await call("DescribeJobs", { jobs: [array + ":119"] })
  assert.deepStrictEqual((await events({ logGroupName: "/aws/batch/job", logStreamName, startFromHead: true })).events.map(e => e.message), ["Grüße 🚀"])
  const want = { DescribeComputeEnvironments: 1, DescribeJobDefinitions: 1, DescribeJobQueues: 1, ListConsumableResources: 1,
    ListJobs: 7, ListJobsByConsumableResource: 1, ListSchedulingPolicies: 1 }
  for (const name of lacks) delete want[name]
  assert.deepStrictEqual(await pages(), want)
  await token()
  await assert.rejects(call("SubmitJob", { ...one, jobName: "x", jobDefinition: "missing" }), e => (e.name === "ClientException" || e.code === "ClientException") && /does not exist/.test(e.message))
}
main().catch(e => { console.error(e); process.exit(1) })
