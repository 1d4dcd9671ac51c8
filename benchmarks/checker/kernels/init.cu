// Planted: reads of memory that was never written.

__global__ void tail_of_shared_tile(const float *in, float *out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (i < n) tile[t] = in[i];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step) {
            float other = tile[t + step];  // expect: uninitialised-read
            tile[t] += other;              // expect: uninitialised-read
        }
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

__global__ void accumulates_into_fresh_memory(const float *in, float *sum) {
    int t = threadIdx.x;
    sum[t] += in[t];  // expect: uninitialised-read
}

__global__ void atomics_into_fresh_memory(const int *in, int *bins) {
    atomicAdd(&bins[in[threadIdx.x]], 1);  // expect: uninitialised-read
}

__global__ void stack_array_half_filled(const float *in, float *out, int n) {
    float window[16];
    for (int k = 0; k < n; k++) window[k] = in[threadIdx.x + k];
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) sum += window[(k * 5) % 16];  // expect: uninitialised-read
    out[threadIdx.x] = sum;
}

__global__ void padding_of_tile(const float *in, float *out) {
    __shared__ float tile[8][9];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 8 + x];
    __syncthreads();
    out[y * 8 + x] = tile[y][x + 1];  // expect: uninitialised-read
}

__global__ void borders_never_written(const float *in, float *a, float *b, int n) {
    int t = threadIdx.x;
    if (t > 0 && t < n - 1) a[t] = 0.5f * (in[t - 1] + in[t + 1]);
    __syncthreads();
    if (t > 0 && t < n - 1) b[t] = 0.5f * (a[t - 1] + a[t + 1]);  // expect: uninitialised-read
}

__global__ void reads_past_the_valid_count(const int *count, const float *items, float *out) {
    int n = *count;
    float sum = 0.0f;
    for (int k = 0; k <= n; k++) sum += items[k];  // expect: uninitialised-read
    out[threadIdx.x] = sum;
}
