"""What the kernels of ``constructs*.py`` are made with, and the table they are kept in."""

import numpy as np

RNG = np.random.default_rng(20)
N = 128
ONE = ((2, 1, 1), (64, 1, 1))


def floats(n=N, dtype=np.float32):
    return (RNG.standard_normal(n) * 10.0 ** RNG.integers(-4, 5, n)).astype(dtype)


def ints(n=N, dtype=np.int32):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def small(n=N, dtype=np.int32, below=100):
    return RNG.integers(0, below, n).astype(dtype)


def zeros(n=N, dtype=np.float32):
    return np.zeros(n, dtype)


CONSTRUCTS = {}


def construct(name, source, launch=ONE, constants=(), **arguments):
    CONSTRUCTS[name] = (source, launch, arguments, tuple(constants))
