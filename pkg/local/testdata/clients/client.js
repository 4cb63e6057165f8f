// Sends the requests on standard input through the AWS SDK for JavaScript and prints their outcomes, one line of JSON
// each. The requests are those of client.py.
const packages = { batch: "client-batch", logs: "client-cloudwatch-logs", ecs: "client-ecs" }
const clients = {}

function client(service) {
  if (!clients[service]) {
    const sdk = require("@aws-sdk/" + packages[service])
    clients[service] = { sdk, it: new sdk[{ batch: "BatchClient", logs: "CloudWatchLogsClient", ecs: "ECSClient" }[service]]({}) }
  }
  return clients[service]
}

async function outcome(request) {
  const { sdk, it } = client(request.service)
  try {
    const { $metadata, ...answer } = await it.send(new sdk[request.operation + "Command"](JSON.parse(request.body)))
    return { status: $metadata.httpStatusCode, answer: request.answer ? answer : null }
  } catch (e) {
    const status = e.$metadata && e.$metadata.httpStatusCode
    return status ? { status, message: e.message } : { unsent: `${e.name}: ${e.message}` }
  }
}

async function main() {
  let text = ""
  for await (const part of process.stdin) text += part
  for (const request of JSON.parse(text)) console.log(JSON.stringify(await outcome(request)))
}
main().catch(e => { console.error(e); process.exit(1) })
