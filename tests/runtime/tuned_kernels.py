"""Kernels and a stand-in for CuPy that the tests of the runtime share."""

import numpy as np


class RawKernel:
    """The interface of CuPy's ``RawKernel`` as far as it is read; it launches nothing."""

    def __init__(self, code, name, options=()):
        self.code, self.name, self.options = code, name, options
        self.file_path, self.backend = None, "nvrtc"
        self.max_dynamic_shared_size_bytes = 49152

    def __call__(self, grid, block, args, *, shared_mem=0):
        raise AssertionError("without a GPU the executor runs it")


ASSIGN = r"""
extern "C" __global__ void assign(const float *points, const float *centres, int *label, int n,
                                  int k, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.4e38f;
    int at = 0;
    for (int c = 0; c < k; c++) {
        float s = 0;
        for (int j = 0; j < d; j++) {
            float t = points[j * n + i] - centres[c * d + j];
            s += t * t;
        }
        if (s < best) { best = s; at = c; }
    }
    label[i] = at;
}
"""
"""Nearest centres. On an A100 tiles in shared memory are predicted to gain much."""


class Assignment:
    """Inputs of :data:`ASSIGN` and what it should compute."""

    def __init__(self, n=4096, k=16, d=8, seed=0):
        rng = np.random.default_rng(seed)
        self.n, self.k, self.d = n, k, d
        self.points = rng.random((d, n), dtype=np.float32)
        self.centres = rng.random((k, d), dtype=np.float32)
        self.label = np.full(n, -1, np.int32)

    @property
    def launch(self):
        numbers = (np.int32(self.n), np.int32(self.k), np.int32(self.d))
        return (self.n // 128,), (128,), (self.points, self.centres, self.label, *numbers)

    def truth(self):
        distance = ((self.points[None] - self.centres[:, :, None]) ** 2).astype(np.float64).sum(1)
        return distance.argmin(0)
