"""Sends the requests on standard input through a client of AWS and prints their outcomes, one line of JSON each.

    client.py cases|boto3|unchecked|raw|cli

boto3      boto3, which checks parameters against its model before it sends them
unchecked  the same without that check
raw        the text of the body, signed by botocore; so it can have null
cli        the AWS CLI, all requests in one process
cases      sends nothing: prints for each base request the requests that differ from it in one empty optional member,
           from botocore's model of the API

A request is {"service", "operation", "body", "answer"}: body is JSON as text, answer asks for the answer itself.
"""

import contextlib
import io
import json
import re
import sys


def main():
    mode, requests = sys.argv[1], json.load(sys.stdin)
    if mode == "cases":
        cases(requests)
        return
    call = {"boto3": Boto, "unchecked": Unchecked, "raw": Raw, "cli": CLI}[mode]()
    for request in requests:
        print(json.dumps(call(request), default=str), flush=True)  # a time as text


class Boto:
    checks = True

    def __init__(self):
        import boto3
        from botocore.config import Config

        config = Config(parameter_validation=self.checks, inject_host_prefix=False)
        self.clients = {name: boto3.client(name, config=config) for name in ("batch", "logs", "ecs")}
        self.body = None

    def parameters(self, request):
        return json.loads(request["body"])

    def __call__(self, request):
        from botocore.exceptions import ClientError, ParamValidationError
        from botocore import xform_name

        client = self.clients[request["service"]]
        try:
            answer = getattr(client, xform_name(request["operation"]))(**self.parameters(request))
        except ParamValidationError as problem:
            return {"unsent": str(problem)}
        except ClientError as problem:
            return {"status": problem.response["ResponseMetadata"]["HTTPStatusCode"], "message": problem.response["Error"]["Message"]}
        except Exception as problem:  # of the serializer, for what the check would have found
            return {"unsent": f"{type(problem).__name__}: {problem}"}
        return outcome(request, answer)


class Unchecked(Boto):
    checks = False


class Raw(Boto):
    checks = False

    def parameters(self, request):
        if self.body is None:
            for client in self.clients.values():
                client.meta.events.register("before-call", self.replace)
        self.body = request["body"]
        return {}

    def replace(self, params, **_):
        params["body"] = self.body.encode()
        params["headers"].setdefault("Content-Type", "application/json")


class CLI:
    """The CLI keeps an event handler of each command, and makes a client for each, which takes most of its time. So a
    driver runs some commands, and its clients stay."""

    made, commands, driver = {}, 0, None

    def __call__(self, request):
        from awscli.clidriver import create_clidriver
        from botocore import xform_name

        if self.commands % 50 == 0:
            self.driver = create_clidriver()
            make = self.driver.session.create_client
            self.driver.session.create_client = lambda service, *args, **more: self.made.get(service) or self.made.setdefault(service, make(service, *args, **more))
        self.commands += 1
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = self.driver.main([request["service"], xform_name(request["operation"], "-"), "--output", "json", "--cli-input-json", request["body"]])
        if code == 0:
            return outcome(request, json.loads(out.getvalue() or "{}"))
        text = err.getvalue().strip()
        refused = re.fullmatch(r"(?:aws: \[ERROR\]: )?An error occurred \(\w+\) when calling the \w+ operation: (.*)", text, re.DOTALL)
        if refused:
            return {"status": 400, "message": refused[1]}
        return {"unsent": text}


def outcome(request, answer):
    answer.pop("ResponseMetadata", None)
    return {"status": 200, "answer": answer if request.get("answer") else None}


# The cases.


def cases(bases):
    from botocore.session import get_session

    session = get_session()
    models = {name: session.get_service_model(name) for name in ("batch", "logs", "ecs")}
    seen, wanted = set(), set()
    for at, base in enumerate(bases):
        operation = models[base["service"]].operation_model(base["operation"])
        collect(operation.input_shape, operation.input_shape, wanted)
        walk(at, base, operation.input_shape, seen)
    print(json.dumps({"missing": sorted(wanted - seen)}))


def walk(at, base, root_shape, seen):
    root = json.loads(base["body"])

    def visit(value, shape, path):
        name = base["operation"] + "Input" if shape is root_shape else shape.name
        seen.add(name)
        for member, below in shape.members.items():
            if member not in shape.required_members:
                given = member in value
                was = value.pop(member, None)
                without = json.dumps(root)
                for text, empty in [("null", None)] + EMPTY.get(below.type_name, []):
                    value[member] = empty
                    # The last value stays at the end of the object, where the one before it was.
                    print(json.dumps({"base": at, "member": name + "." + member[0].upper() + member[1:], "path": path + member, "value": text,
                                      "structure": below.name if below.type_name == "structure" else "",
                                      "needed": below.type_name == "structure" and bool(below.required_members), "with": json.dumps(root), "without": without}))
                del value[member]
                if given:
                    value[member] = was
            inner, elements = below, [value.get(member)]
            if below.type_name == "list":
                inner, elements = below.member, value.get(member) or []
            if inner.type_name == "structure":
                for k, element in enumerate(elements):
                    if element is not None:
                        visit(element, inner, f"{path}{member}[{k}]." if inner is not below else f"{path}{member}.")

    visit(root, root_shape, "")


EMPTY = {"structure": [("{}", {})], "map": [("{}", {})], "list": [("[]", [])], "string": [('""', "")]}


def collect(shape, root_shape, into):
    """Adds the names of the structures that a request can have."""
    if shape.type_name == "list":
        collect(shape.member, root_shape, into)
    elif shape.type_name == "structure" and shape.name not in into:
        if shape is not root_shape:
            into.add(shape.name)
        for below in shape.members.values():
            collect(below, root_shape, into)


if __name__ == "__main__":
    main()
