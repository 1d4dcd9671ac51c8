// First pass of a sum, after Harris, "Optimizing Parallel Reduction in CUDA": each block adds up its part in shared
// memory. FORM 1: neighbours, every second thread at work; 2: the first threads at work, with bank conflicts;
// 3: halves; 4: two loads a thread; 5: last warp without barriers; 6: unrolled; 7: several loads a thread.
typedef ELEMENT element;

__device__ void add_warp(volatile element *part, unsigned t, unsigned threads)
{
    if (threads >= 64) part[t] += part[t + 32];
    if (threads >= 32) part[t] += part[t + 16];
    if (threads >= 16) part[t] += part[t + 8];
    if (threads >= 8) part[t] += part[t + 4];
    if (threads >= 4) part[t] += part[t + 2];
    if (threads >= 2) part[t] += part[t + 1];
}

__global__ void reduce(const element *x, unsigned n, element *sums)
{
    extern __shared__ element part[];
    const unsigned t = threadIdx.x;
#if FORM <= 3
    unsigned i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
#elif FORM <= 6
    unsigned i = blockIdx.x * (2 * blockDim.x) + t;
    part[t] = i < n ? x[i] : 0;
    part[t] += i + blockDim.x < n ? x[i + blockDim.x] : 0;
#else
    unsigned i = blockIdx.x * (2 * blockDim.x) + t;
    part[t] = 0;
    for (; i < n; i += gridDim.x * (2 * blockDim.x)) {
        part[t] += x[i];
        part[t] += i + blockDim.x < n ? x[i + blockDim.x] : 0;
    }
#endif
#if FORM != 5
    __syncthreads();
#endif
#if FORM == 1
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) part[t] += t + stride < n ? part[t + stride] : 0;
        __syncthreads();
    }
#elif FORM == 2
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        int at = 2 * stride * t;
        if (at < blockDim.x) part[at] += at + stride < n ? part[at + stride] : 0;
        __syncthreads();
    }
#elif FORM <= 4
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) part[t] += part[t + stride];
        __syncthreads();
    }
#elif FORM == 5
    for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (t < stride) part[t] += part[t + stride];
        __syncthreads();
    }
    if (t < 32) add_warp(part, t, blockDim.x);
#else
    if (blockDim.x >= 512 && t < 256) part[t] += part[t + 256];
    __syncthreads();
    if (blockDim.x >= 256 && t < 128) part[t] += part[t + 128];
    __syncthreads();
    if (blockDim.x >= 128 && t < 64) part[t] += part[t + 64];
    __syncthreads();
    if (t < 32) add_warp(part, t, blockDim.x);
#endif
    if (t == 0) sums[blockIdx.x] = part[0];
}
