// Sum of n numbers, first pass: each block of BLOCK threads strides through the array and leaves one
// partial sum.

__global__ void reduce(const float *in, float *out, int n) {
    __shared__ float partial[BLOCK];
    int lane = threadIdx.x;
    int stride = gridDim.x * 2 * BLOCK;

    float sum = 0.0f;
    for (int i = blockIdx.x * 2 * BLOCK + lane; i < n; i += stride) {
        sum += in[i];
        if (i + BLOCK < n)
            sum += in[i + BLOCK];
    }
    partial[lane] = sum;
    __syncthreads();

    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (lane < half)
            partial[lane] += partial[lane + half];
        __syncthreads();
    }
    if (lane == 0)
        out[blockIdx.x] = partial[0];
}
