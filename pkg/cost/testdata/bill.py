"""Print the bill of each case on standard input, by the rules in aws-billing.csv. It shares no code with batchctl.

A case is a line of JSON. A bill has the amounts in US dollars: low and high of what ran, at the lowest and the highest
price; alone, if each attempt had its machines for itself; least and most of a submission before it runs, with one attempt
that takes the whole timeout, and with all attempts.
"""
import csv
import json
import math
import os
import sys

RULES = {}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "aws-billing.csv"), encoding="utf-8") as file:
    for row in csv.reader(line for line in file if not line.startswith("#")):
        RULES[row[0]] = row[1]


def number(rule):
    return float(RULES[rule])


def prices(item, spot):
    """The lowest and the highest price of an item."""
    on_demand = number("price:" + item)
    if not spot:
        return on_demand, on_demand
    low = float(RULES["price:spot:" + item].split("-")[0])
    return min(low, on_demand), on_demand


def billed(milliseconds, kind, least):
    """The milliseconds that AWS bills for one run."""
    step = int(number("step-seconds:" + kind)) * 1000
    return max(int(number("least-seconds:" + least)) * 1000, -(-milliseconds // step) * step)


def fargate(case):
    """The price of a task an hour, and how its time is counted."""
    name = "fargate-" + case["platform"]
    low = high = 0.0
    for item, amount in ((name + "-vcpu", case["vcpus"]), (name + "-gb", case["memory"] / 1024)):
        least, most = prices(item, case["spot"])
        low, high = low + least * amount, high + most * amount
    extra = max(0, case["storage"] - number("free-gb:fargate-storage")) * number("price:fargate-storage-gb")
    if case["address"]:
        extra += number("price:public-ipv4")
    return low + extra, high + extra, high + extra, lambda ms: billed(ms, "fargate", name), lambda ms: billed(ms, "fargate", name)


def instance(case):
    """The price of a job's part of its instances an hour. A node has an instance of its own."""
    low, high = prices(case["type"], case["spot"])
    if case["nodes"] > 1:
        low, high, alone = low * case["nodes"], high * case["nodes"], high * case["nodes"]
    else:
        jobs = math.floor(number("vcpus:" + case["type"]) / case["vcpus"])
        low, high, alone = low / jobs, high / jobs, high
    # The minimum belongs to the instance, so the part of one job is counted without it.
    return low, high, alone, lambda ms: ms, lambda ms: billed(ms, "instance", "instance")


def bill(case):
    low, high, alone, part, whole = (fargate if case["platform"] else instance)(case)
    hour = 3600.0 * 1000
    shared = sum(part(ms) for ms in case["attempts"]) / hour
    timeout = case["timeout"] * 1000
    return {
        "low": low * shared,
        "high": high * shared,
        "alone": alone * sum(whole(ms) for ms in case["attempts"]) / hour,
        "least": low * part(timeout) / hour * case["children"],
        "most": alone * whole(timeout) / hour * case["children"] * case["retries"],
    }


for line in sys.stdin:
    print(json.dumps(bill(json.loads(line))))
