#!/usr/bin/env python3
"""The workloads as .ci/bench-gpu sees them: rows without work behind them. CUBLAS_MS,
BUILTIN_MS and IMAGE_MS are what kernels take (an image's in a run a tenth more), TFLOPS
the peak of the card, and COPIES what copies of the same bytes take for each second of an
image's kernel. WHOLE is what a run takes for each second of its kernels, of which it copies
PCIE. CUDA_CC is the card's capability, and NO_GPU is for a machine without one. WRONG is a
precision whose result is wrong."""

import json
import os
import sys

number = lambda name: float(os.environ[name])
command, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
if command == "gpu-info":
    if "NO_GPU" in os.environ:
        print("batchctl-workloads: gpu-info: no GPU can be used", file=sys.stderr)
        sys.exit(3)
    card = {"ordinal": 0, "name": "Some GPU", "capability": os.environ["CUDA_CC"]}
    print(json.dumps({"driver": "580.1", "cuda": "13.0", "cublas": {"version": "13.1"}, "devices": [card]}) if "--format" in options else "GPUs 1")
    sys.exit()

def row(kernel, **more):
    print(json.dumps(dict({"kernelSeconds": kernel}, **more, copyInSeconds=kernel * number("PCIE"), copyOutSeconds=kernel / 4, median=kernel * number("WHOLE"))))

for size in map(int, options["--sizes"].split(",")):
    if command == "matrix":
        if options["--type"] == os.environ.get("WRONG") and options["--kernel"] == "builtin":
            sys.exit("batchctl-workloads: matrix: verify: element (0, 1) is off by 3")
        kernel = number(options["--kernel"].upper() + "_MS") / 1e3
        peak = {"name": "FMA peak", "rate": 1e3 * number("TFLOPS"), "unit": "GFLOP/s", "share": 0.5}
        row(kernel, type=options["--type"], width=size, ceilings=[peak])
        continue
    for batch in map(int, options["--batch"].split(",")):
        kernel, operation = number("IMAGE_MS") / 1e3, options["--operations"]
        read = 3 * size * size * batch
        written = read * {"sobel": 1 / 3, "resize-half": 1 / 4}.get(operation, 1)
        copy = {"name": "copy bandwidth", "rate": (read + written) / (number("COPIES") * kernel) / 1e9, "unit": "GB/s", "share": number("COPIES")}
        pcie = {"name": "PCIe copy", "rate": 1.0, "unit": "GB/s", "share": number("PCIE") / number("WHOLE")}
        fma = {"name": "FMA peak", "rate": 1e3 * number("TFLOPS"), "unit": "GFLOP/s", "share": 0.01}
        row(kernel, kernelSeconds=1.1 * kernel, repeatedKernelSeconds=kernel, operation=operation, width=size, batch=batch, ceilings=[copy, pcie] + [fma] * (operation == "gaussian-blur"))
