"""What references of the bundled cases need: runs, the cases on other sizes, and one rounding for a
product and a sum, as the kernels have it."""

import tomllib

import numpy as np

from placewise.cases import case_path, load_case
from placewise.executor import execute
from placewise.kernel.cases.case_file import case_from
from placewise.kernel.frontends.nvrtc import compile_kernel

EPS = np.finfo(np.float32).eps


def fma(a, b, c):
    """a·b + c of float32 arrays rounded once.

    The product is exact in float64; its sum with c is rounded to odd there, so that the final
    rounding to float32 sees on which side of the exact value it is (Boldo and Melquiond 2008).
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    c = c.astype(np.float64)
    total = product + c
    back = total - product
    lost = (product - (total - back)) + (c - back)
    even = (total.view(np.int64) & 1) == 0
    odd = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    return np.where((lost != 0) & even, odd, total).astype(np.float32)


def run(case):
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    return execute(kernel, case.launch, case.inputs)


def values(case):
    return {a.name: getattr(a, "data", getattr(a, "value", None)) for a in case.inputs.arguments}


def sized(name, **sizes):
    """The bundled case with other sizes, its inputs from its own generators."""
    if not sizes:
        return load_case(name)
    document = document_of(name)
    assert sizes.keys() <= document["sizes"].keys()
    document["sizes"] |= sizes
    return case_from(document, case_path(name))


def document_of(name):
    """The bundled case file, parsed."""
    return tomllib.loads(case_path(name).read_text())


def outputs_and_inputs(case):
    """The run's outputs by name, and the inputs as they were before it."""
    before = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values(case).items()}
    return run(case), before
