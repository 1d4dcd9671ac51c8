// Many values into few: sums, histograms, scans, sorts.
#include <math_constants.h>

__global__ void block_sum(float* sums, const float* in, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t < 32) {
        volatile float* p = part;
        p[t] += p[t + 32]; __syncwarp();
        p[t] += p[t + 16]; __syncwarp();
        p[t] += p[t + 8]; __syncwarp();
        p[t] += p[t + 4]; __syncwarp();
        p[t] += p[t + 2]; __syncwarp();
        p[t] += p[t + 1];
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

__inline__ __device__ float warp_sum(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}

__global__ void dot(float* result, const float* a, const float* b, int n) {
    __shared__ float part[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        v += a[i] * b[i];
    v = warp_sum(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? part[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(result, v);
}

__global__ void histogram(unsigned* bins, const unsigned char* data, int n) {
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b]) atomicAdd(&bins[b], local[b]);
}

// Blelloch's work-efficient exclusive scan of 2 * blockDim.x values.
__global__ void scan(int* out, const int* in, int* totals) {
    extern __shared__ int s[];
    int t = threadIdx.x, n = 2 * blockDim.x, at = blockIdx.x * n, step = 1;
    s[2 * t] = in[at + 2 * t];
    s[2 * t + 1] = in[at + 2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) {
        totals[blockIdx.x] = s[n - 1];
        s[n - 1] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1, v = s[left];
            s[left] = s[right];
            s[right] += v;
        }
    }
    __syncthreads();
    out[at + 2 * t] = s[2 * t];
    out[at + 2 * t + 1] = s[2 * t + 1];
}

__global__ void bitonic_step(int* values, int j, int k) {
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
    unsigned other = i ^ j;
    if (other > i) {
        bool up = (i & k) == 0;
        if (up ? values[i] > values[other] : values[i] < values[other]) {
            int v = values[i];
            values[i] = values[other];
            values[other] = v;
        }
    }
}

__global__ void softmax(float* out, const float* in, int columns) {
    const float* row = in + blockIdx.x * columns;
    float top = -CUDART_INF_F, sum = 0;
    for (int c = threadIdx.x; c < columns; c += 32) top = fmaxf(top, row[c]);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    for (int c = threadIdx.x; c < columns; c += 32) sum += expf(row[c] - top);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = threadIdx.x; c < columns; c += 32)
        out[blockIdx.x * columns + c] = expf(row[c] - top) / sum;
}
