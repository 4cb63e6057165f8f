"""The peers that need Python, one process for each run: peers.py queue | s3 | has-openblas | openblas | opencv, with arguments.

Those that measure print one line of JSON: the seconds of each run, and a version.
"""
import array, ctypes, ctypes.util, json, math, os, random, sys, time


def queue(endpoint):
    """Makes a queue and a definition on a moto_server."""
    import boto3

    def client(name):
        return boto3.client(name, endpoint_url=endpoint)

    ec2, batch, iam = client("ec2"), client("batch"), client("iam")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)["GroupId"]
    role = iam.create_role(RoleName="batch", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    profile = iam.create_instance_profile(InstanceProfileName="batch")["InstanceProfile"]["Arn"]
    batch.create_compute_environment(
        computeEnvironmentName="machines", type="MANAGED", state="ENABLED", serviceRole=role,
        computeResources=dict(type="EC2", minvCpus=0, maxvCpus=16, instanceTypes=["m5.large"], instanceRole=profile,
                              subnets=[subnet], securityGroupIds=[group]))
    batch.create_job_queue(jobQueueName="default", state="ENABLED", priority=1, computeEnvironmentOrder=[dict(order=1, computeEnvironment="machines")])
    batch.register_job_definition(
        jobDefinitionName="work", type="container",
        containerProperties=dict(image="busybox", command=["true"],
                                 resourceRequirements=[dict(type="VCPU", value="1"), dict(type="MEMORY", value="64")]))


def s3(way, where, folder):
    """Moves objects with boto3: down from bench/WHERE, or up to kept/WHERE."""
    import boto3
    from boto3.s3.transfer import TransferConfig, create_transfer_manager

    client = boto3.client("s3", config=boto3.session.Config(max_pool_connections=32))
    manager = create_transfer_manager(client, TransferConfig(max_concurrency=32))
    transfers = []
    if way == "down":
        for page in client.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=where + "/"):
            for o in page.get("Contents", []):
                path = os.path.join(folder, o["Key"][len(where) + 1:])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                transfers.append(manager.download("bench", o["Key"], path))
    else:
        for base, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(base, name)
                transfers.append(manager.upload(path, "kept", where + "/" + os.path.relpath(path, folder)))
    for t in transfers:
        t.result()
    manager.shutdown()


def load_openblas():
    names = [os.environ["BLAS_LIBRARY"]] if os.environ.get("BLAS_LIBRARY") else ["libopenblas.so.0", "libopenblas.so", ctypes.util.find_library("openblas")]
    for name in filter(None, names):
        try:
            library = ctypes.CDLL(name)
            library.cblas_dgemm, library.openblas_get_corename
            return library
        except (OSError, AttributeError):
            pass
    sys.exit("no OpenBLAS")


def openblas(kind, n, threads, repeats):
    """Multiplies two matrices of N x N, and checks elements of the product, as ours does."""
    library, n = load_openblas(), int(n)
    library.openblas_get_corename.restype = library.openblas_get_config.restype = ctypes.c_char_p
    number, code, multiply = (ctypes.c_double, "d", library.cblas_dgemm) if kind == "float64" else (ctypes.c_float, "f", library.cblas_sgemm)
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    multiply.argtypes = [integer] * 6 + [number, pointer, integer, pointer, integer, number, pointer, integer]
    library.openblas_set_num_threads(int(threads))

    def matrix(seed):
        # 65537 random numbers, repeated: no row equals the one before it.
        rng = random.Random(seed)
        part = array.array(code, (rng.uniform(-1, 1) for _ in range(65537)))
        whole = array.array(code, part * (n * n // len(part) + 1))
        del whole[n * n:]
        return whole

    a, b, c = matrix(1), matrix(2), array.array(code, bytes(n * n * ctypes.sizeof(number)))

    def address(m):
        return m.buffer_info()[0]

    seconds = timed(lambda: multiply(101, 111, 111, n, n, n, 1, address(a), n, address(b), n, 0, address(c), n), int(repeats))
    limit = 2 * n * (2**-53 if code == "d" else 2**-24)
    for i, j in [(0, 0), (n - 1, n - 1), (n // 3, n // 2), (n // 2, n // 7)]:
        want = math.fsum(a[i * n + k] * b[k * n + j] for k in range(n))
        if not abs(c[i * n + j] - want) <= limit:
            sys.exit(f"OpenBLAS: element ({i}, {j}) is off by {c[i * n + j] - want:g}")
    config = " ".join(library.openblas_get_config().decode().split()[:2])
    print(json.dumps({"seconds": seconds, "version": f"{config}, kernels {library.openblas_get_corename().decode()}"}))


def timed(run, repeats):
    """The seconds of each repeat, after one that warms up."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


def opencv(row, n, threads, repeats):
    """Runs an operation on an image of N x N."""
    import concurrent.futures, statistics
    import cv2, numpy as np

    n, threads, repeats = int(n), int(threads), int(repeats)
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    src = np.random.default_rng(1).integers(0, 256, (n, n, 3), dtype=np.uint8)
    half = np.empty((n // 2, n // 2, 3), np.uint8)
    same = np.empty_like(src)
    grey, ax, ay, edges = (np.empty((n, n), np.uint8) for _ in range(4))
    dx, dy = (np.empty((n, n), np.int16) for _ in range(2))

    def gaussian(sigma):
        size = 2 * math.ceil(3 * sigma) + 1
        return [lambda: cv2.GaussianBlur(src, (size, size), sigma, dst=same, borderType=cv2.BORDER_REPLICATE)]

    def resize(how):
        return [lambda: cv2.resize(src, (n // 2, n // 2), dst=half, interpolation=how)]

    # Some functions of OpenCV use one thread only. For these, each thread gets a strip of the image, and the faster of
    # both ways counts. A strip's border rows are its own: the same time, and pixels that are not compared.
    def strips(part):
        height = (n + threads - 1) // threads

        def run():
            cv2.setNumThreads(1)
            list(pool.map(lambda i: part(slice(i * height, min((i + 1) * height, n))), range(threads)))
            cv2.setNumThreads(threads)

        return [lambda: part(slice(0, n)), run]

    def sobel(s):
        # spatialGradient is faster than two calls of Sobel.
        cv2.cvtColor(src[s], cv2.COLOR_RGB2GRAY, dst=grey[s])
        cv2.spatialGradient(grey[s], dx=dx[s], dy=dy[s], ksize=3, borderType=cv2.BORDER_REPLICATE)
        cv2.convertScaleAbs(dx[s], dst=ax[s])
        cv2.convertScaleAbs(dy[s], dst=ay[s])
        cv2.add(ax[s], ay[s], dst=edges[s])

    def brightness(s):
        cv2.convertScaleAbs(src[s], dst=same[s], alpha=1.2, beta=10)

    ways = {"blur-2": lambda: gaussian(2), "blur-5": lambda: gaussian(5), "sobel": lambda: strips(sobel), "resize-half": lambda: resize(cv2.INTER_LINEAR),
            "brightness": lambda: strips(brightness), "lanczos": lambda: resize(cv2.INTER_LANCZOS4)}[row]()
    cv2.setNumThreads(threads)
    best = min((timed(run, repeats) for run in ways), key=statistics.median)
    print(json.dumps({"seconds": best, "version": cv2.__version__}))


if __name__ == "__main__":
    {"queue": queue, "s3": s3, "has-openblas": load_openblas, "openblas": openblas, "opencv": opencv}[sys.argv[1]](*sys.argv[2:])
