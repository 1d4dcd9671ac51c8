// Kernels over a plane of w by h points whose last column and row of blocks are partly filled.

extern "C" __global__ void filter(const float *a, float *to, int w, int h, int rounds) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0.0f;
    for (int r = 0; r < rounds; r++) sum += a[y * w + (x + r) % w] * 1.5f;
    to[y * w + x] = sum;
}

extern "C" __global__ void staged(const float *a, float *to, int w, int h, int rounds) {
    __shared__ float tile[1024];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int n = threadIdx.y * blockDim.x + threadIdx.x;
    bool inside = x < w && y < h;
    float sum = 0.0f;
    for (int r = 0; r < rounds; r++) {
        tile[n] = inside ? a[(y * w + x + r * 64) % (w * h)] : 0.0f;
        __syncthreads();
        if (inside)
            for (int k = 0; k < 16; k++) sum += tile[(n + k) & 1023];
        __syncthreads();
    }
    if (inside) to[y * w + x] = sum;
}

extern "C" __global__ void chain(const float *a, float *to, int w, int h, int rounds) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float one = a[y * w + x], other = one;
    for (int r = 0; r < rounds; r++) {
        one = one * other + 1.0f;
        other = other * one + 0.5f;
    }
    to[y * w + x] = one + other;
}

extern "C" __global__ void mixed(const float *a, float *to, int w, int h, int rounds) {
    __shared__ float tile[1024];
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = w * h;
    float sum = 0.0f, x = threadIdx.x;
    tile[threadIdx.x] = x;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        if (MEMORY) sum += a[(unsigned)(t * STEP + r * 32) % n];
        if (SHARED) sum += tile[(threadIdx.x * STEP + r) & 1023];
        for (int k = 0; k < MATH; k++) x = x * 1.5f + sum;
    }
    if (t < n) to[t] = sum + x;
}
