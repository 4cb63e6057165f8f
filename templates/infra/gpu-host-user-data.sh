#!/bin/bash
# First start of a GPU host of AWS Batch or Amazon ECS. Its output is in
# /var/log/cloud-init-output.log.
#
# The ECS service starts after cloud-init has ended. So nothing here starts it or waits for
# it: it would wait for the end of this script, and the host would never register.
# Nothing names a cluster either: Batch sets its own, and another cluster would take the
# host away from it.
set -euo pipefail

say() { echo "gpu-host: $*"; }

# The driver first. Without it the NVIDIA runtime would keep every container from
# starting, so the script changes nothing: the host registers without GPUs and gets no GPU job.
if ! gpus=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader); then
	say "ERROR: nvidia-smi does not answer: $gpus; this AMI has no working driver for this instance type; nothing was configured"
	exit 1
fi
count=$(wc -l <<<"$gpus")
driver=$(head -n 1 <<<"$gpus" | cut -d, -f2 | tr -d ' ')
say "$count GPU(s), driver $driver:"
say "$gpus"

# The NVIDIA runtime as Docker's default. Other settings of daemon.json stay. Settings that
# dockerd gets as a flag are left out: it rejects a setting in both places.
mkdir -p /etc/docker
python3 - <<'PYTHON'
import json, os

path = "/etc/docker/daemon.json"
settings, flags = {}, ""
if os.path.exists(path) and os.path.getsize(path):
    with open(path) as f:
        settings = json.load(f)
if os.path.exists("/etc/sysconfig/docker"):
    with open("/etc/sysconfig/docker") as f:
        flags = " ".join(line for line in f if not line.lstrip().startswith("#"))
if "--default-runtime" not in flags:
    settings["default-runtime"] = "nvidia"
if "--add-runtime" not in flags:
    runtimes = settings.setdefault("runtimes", {})
    runtimes.setdefault("nvidia", {"path": "/usr/bin/nvidia-container-runtime", "args": []})
with open(path + ".new", "w") as f:
    json.dump(settings, f, indent=2)
os.replace(path + ".new", path)
PYTHON

# The agent's settings, one line for each name. Attributes that Batch has written stay.
mkdir -p /etc/ecs
touch /etc/ecs/ecs.config
setting() {
	sed -i "/^$1=/d" /etc/ecs/ecs.config
	echo "$1=$2" >>/etc/ecs/ecs.config
}
attributes=$(
	python3 - "$count" "$driver" <<'PYTHON'
import json, sys

text, name = "{}", "ECS_INSTANCE_ATTRIBUTES="
with open("/etc/ecs/ecs.config") as f:
    for line in f:
        if line.startswith(name):
            text = line[len(name):].strip()
try:
    attributes = json.loads(text)
    attributes["batchctl.gpu.count"], attributes["batchctl.gpu.driver"] = sys.argv[1:]
    text = json.dumps(attributes, separators=(",", ":"))
except ValueError:
    print("gpu-host: the attributes are not JSON and stay unchanged:", text, file=sys.stderr)
print(text)
PYTHON
)
setting ECS_ENABLE_GPU_SUPPORT true
setting ECS_INSTANCE_ATTRIBUTES "$attributes"

# --no-block, because a restart that waits would wait, through the units ordered after
# Docker, for the end of cloud-init and so for itself.
systemctl restart docker --no-block
say "configured; Docker restarts, and the ECS agent starts when cloud-init has ended"
