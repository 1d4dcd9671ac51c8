"""A plan of 48 tasks whose predictions are arithmetic, made quickly."""

from placewise.sweep import SweepPlan, SweptKernel
from placewise.sweep.store import Outcome

CASE = """schema = 1
kernel = "scale"
source = "scale.cu"

[parameters]
block = 64
unroll = 1

[sizes]
n = 4096

[launch]
problem = ["n"]
block = ["block"]

[[arguments]]
name = "x"
dtype = "float32"
shape = ["n"]
fill = 1.0
"""
SOURCE = '#include "factor.h"\n' + (
    'extern "C" __global__ void scale(float *x) {\n'
    "    x[blockIdx.x * blockDim.x + threadIdx.x] *= FACTOR;\n}\n"
)


def written_case(folder):
    """A case file with its source and header."""
    (folder / "scale.cu").write_text(SOURCE)
    (folder / "factor.h").write_text("#define FACTOR 2.0f\n")
    path = folder / "scale.toml"
    path.write_text(CASE)
    return path


def plan_of(path, **changed):
    kernel = {
        "case": str(path),
        "sizes": {"n": [1024, 2048, 4096]},
        "parameters": {"block": [32, 64, 128, 256], "unroll": [1, 2]},
    } | changed
    return SweepPlan(machines=["A100", "H100"], kernels=[SweptKernel(**kernel)])


def invented(task):
    """A time that every value and the machine's name change."""
    values = {**dict(task.sizes), **dict(task.parameters)}
    ms = values["n"] / values["block"] + values["unroll"] + len(task.machine)
    return Outcome(float(ms), (ms / 2.0, ms * 2.0), "latency", ("launch",), 16, 64)
