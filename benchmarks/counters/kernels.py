"""Compiled kernels kept on disk: NVRTC may take 20 seconds for one, as long as its simulation."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict

from placewise.disk_cache import DiskCache, key_of
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.frontends.nvrtc import compiler_version
from placewise.kernel.kernel import Kernel
from placewise.kernel.toolchain import Spills

KERNELS = DiskCache("benchmark-kernels", files=1500)


def compiled(case: Case) -> Kernel:
    """The kernel of a case of plain CUDA C++ that includes nothing."""
    version = compiler_version(case.options.nvrtc)
    key = key_of(case.source, case.kernel, repr(case.options), version, *Kernel.__annotations__)
    stored = KERNELS.read(key)
    if stored is not None:
        return _read(stored)
    kernel = compile_case(case)
    KERNELS.write(key, _written(kernel))
    return kernel


def _written(kernel: Kernel) -> bytes:
    fields = asdict(kernel)
    fields["cubin"] = base64.b64encode(kernel.cubin or b"").decode()
    return json.dumps(fields).encode()


def _read(stored: bytes) -> Kernel:
    fields = json.loads(stored)
    fields["cubin"] = base64.b64decode(fields["cubin"])
    spills = fields["spills"]
    return Kernel(**{**fields, "spills": None if spills is None else Spills(**spills)})
