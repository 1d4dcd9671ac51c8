"""``python -m placewise.compile_ahead``: compile the simulator into the installation.

Numba compiles a function when it is first called. Here each is called once, on a small launch, and
its machine code is written to the folder ``compiled`` of the package, where every user of this
installation finds it. ``make setup`` does this; without it the first command that needs the
simulator compiles into the user's cache, which takes one to two minutes.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import AHEAD, written_to
from placewise.kernel.cases.case import Case

MACHINES = ("A100", "K20c")
"""A GPU for which machine code is compiled and timed, and an older one for which it is not."""
SOURCE = """
__global__ void add(const float *a, const int *index, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + a[index[i]];
}
"""
MANY = 12
"""Arrays of a kernel whose placements are too many to try all."""


def small_case() -> Case:
    """A launch of few blocks with consecutive and scattered accesses."""
    from placewise.kernel.cases.make_case import make_case

    n = 8192
    index = np.random.default_rng(1).integers(0, n, n, dtype=np.int32)
    a, total = np.ones(n, np.float32), np.zeros(n, np.float32)
    return make_case("add", SOURCE, [a, index, total, np.int32(n)], block=256, problem=n)


def case_of_many_arrays() -> Case:
    """A launch whose placements are searched by branch and bound: constant memory holds some of its
    arrays, and which of them is the question."""
    from placewise.kernel.cases.make_case import make_case

    n = 4096
    names = [f"a{k}" for k in range(MANY)]
    added = " + ".join(f"{name}[{k + 1} * i % n]" for k, name in enumerate(names))
    source = (
        f"__global__ void sum({''.join(f'const float *{name}, ' for name in names)}float *s, int n)"
        f" {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) s[i] = {added}; }}"
    )
    given: list[NDArray[np.float32] | np.int32] = [np.ones(n, np.float32) for _ in names]
    given += [np.zeros(n, np.float32), np.int32(n)]
    return make_case("sum", source, given, block=256, problem=n)


def call_each_function() -> None:
    """Run the stages whose compiled functions are worth keeping."""
    from placewise.advisor import advise
    from placewise.advisor.lint import lint
    from placewise.advisor.predictions.predicted_counters import predict_counters
    from placewise.executor.check import Checker
    from placewise.executor.run_case import run_case

    case = small_case()
    for machine in MACHINES:
        advise(case, machine)
    advise(case_of_many_arrays(), MACHINES[-1], finalists=1)
    lint(predict_counters(case, "T4", sizes=True).run)
    run_case(case, checker=Checker())


def compile_ahead(folder: Path = AHEAD) -> int:
    """Fill ``folder`` anew; returns how many functions it holds."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="compiling-") as scratch:
        with written_to(Path(scratch)):
            call_each_function()
        made = list(Path(scratch).iterdir())
        if made:
            for path in folder.iterdir():
                path.unlink()
        for path in made:
            shutil.move(path, folder / path.name)
    return sum(1 for _ in folder.iterdir())


if __name__ == "__main__":
    print(f"{compile_ahead()} functions compiled into {AHEAD}")
