// Prefix sums within each block's BLOCK elements (Hillis and Steele, two buffers in turn), and the
// block's sum, from which a next pass makes what each block has to add.

__global__ void scan(const float *in, float *out, float *sums, int n) {
    __shared__ float buffers[2][BLOCK];
    int lane = threadIdx.x;
    int i = blockIdx.x * BLOCK + lane;

    int now = 0;
    buffers[now][lane] = i < n ? in[i] : 0.0f;
    __syncthreads();

    for (int offset = 1; offset < BLOCK; offset *= 2) {
        float sum = buffers[now][lane];
        if (lane >= offset)
            sum += buffers[now][lane - offset];
        now = 1 - now;
        buffers[now][lane] = sum;
        __syncthreads();
    }

    if (i < n)
        out[i] = buffers[now][lane];
    if (lane == BLOCK - 1)
        sums[blockIdx.x] = buffers[now][lane];
}
