"""As much of PyTorch as .ci/bench-gpu asks for, in plain Python. Products are computed, and
rounded as a GPU does; PRODUCT_MS and BLUR_MS say how long everything takes. With IEEE it
never takes TF32, whoever asks for it, and with NO_CUDA it has no GPU."""

import math
import os
import random

float32, float64, bfloat16, uint8 = 24, 53, 8, 0  # bits of a number
__version__ = "0.0"
precision = "highest"
last = "PRODUCT_MS"


def set_float32_matmul_precision(wanted):
    global precision
    precision = wanted


def rounded(value, bits):
    if bits == uint8:
        return int(value)
    fraction, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(fraction, bits)), exponent - bits)


class Scalar:
    def __init__(self, value):
        self.value = value

    def __truediv__(self, other):
        return Scalar(self.value / other.value)

    def item(self):
        return self.value


class Tensor:
    def __init__(self, rows, dtype):
        self.rows, self.dtype = rows, dtype

    def map(self, f):
        return Tensor([[f(v) for v in row] for row in self.rows], self.dtype)

    def __mul__(self, factor):
        return self.map(lambda v: v * factor)

    def __sub__(self, other):
        if isinstance(other, Tensor):
            return Tensor([[x - y for x, y in zip(*rows)] for rows in zip(self.rows, other.rows)], self.dtype)
        return self.map(lambda v: v - other)

    def __getitem__(self, part):
        return Tensor(self.rows[part], self.dtype)

    def to(self, dtype):
        return Tensor(self.map(lambda v: rounded(v, dtype)).rows, dtype)

    def double(self):
        return self.to(float64)

    def norm(self):
        return Scalar(math.sqrt(sum(v * v for row in self.rows for v in row)))


class Images:
    """They are all of one colour, so that their blur is what they are."""

    def __mul__(self, factor):
        return self

    def to(self, dtype):
        return self

    def __getitem__(self, at):
        if isinstance(at[2], slice):
            size = at[2].stop - at[2].start
            return Images.Window([[99] * size] * size)
        return Scalar(99)

    class Window(list):
        def tolist(self):
            return self


def rand(*shape, device, dtype=float32):
    if len(shape) == 4:
        return Images()
    return Tensor([[random.random() for _ in range(shape[1])] for _ in range(shape[0])], dtype)


def empty_like(other):
    return other.map(lambda v: math.nan)


def mm(a, b, out=None):
    global last
    last = "PRODUCT_MS"
    bits = 11 if a.dtype == float32 and precision == "high" and "IEEE" not in os.environ else a.dtype
    columns = list(zip(*b.to(bits).rows))
    rows = [[rounded(sum(x * y for x, y in zip(row, column)), a.dtype) for column in columns] for row in a.to(bits).rows]
    if out is not None:
        out.rows = rows
    return Tensor(rows, a.dtype)


class version:
    cuda = "13.0"


class cuda:
    @staticmethod
    def is_available():
        return "NO_CUDA" not in os.environ

    @staticmethod
    def empty_cache():
        pass

    @staticmethod
    def synchronize():
        pass

    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            pass

        def elapsed_time(self, end):
            return float(os.environ[last])


class backends:
    class cuda:
        class matmul:
            allow_bf16_reduced_precision_reduction = True
