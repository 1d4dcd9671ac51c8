"""Machine code of sm_90 and later keeps 1 KB of shared memory below the kernel's own for the
system; an access to it is as far out of bounds as any other."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import ExecutionError
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case

SOURCE = """
__global__ void direct(float *out, int at) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[(int)threadIdx.x + at];
}
__device__ __noinline__ float read(const float *p) { return *p; }
__global__ void generic(float *out, int at) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = read(s + (int)threadIdx.x + at);
}
"""


def run(kernel, arch, at):
    case = make_case(
        kernel, SOURCE, [np.zeros(32, np.float32), np.int32(at)], grid=1, block=32, arch=arch
    )
    code = replace(compile_case(case), machine_code=True)
    return execute(code, case.launch, named_case(case).inputs).output("out")


@pytest.mark.parametrize("kernel", ["direct", "generic"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_below_the_first_element_is_out_of_bounds(kernel, arch):
    np.testing.assert_array_equal(run(kernel, arch, 0), np.arange(32))
    for below in (-1, -256):
        with pytest.raises(ExecutionError, match="out of bounds"):
            run(kernel, arch, below)
