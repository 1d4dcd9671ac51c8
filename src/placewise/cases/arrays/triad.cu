// Triad of the STREAM benchmark: c = a + scale * b.

__global__ void triad(const float *a, const float *b, float *c, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i] = a[i] + scale * b[i];
}
