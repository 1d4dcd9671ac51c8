// Convolution of a row with a short mask; the result is kept between 0.0 and 1.0, which are doubles, so that every
// element passes through double precision. FORM 0: mask in global memory; 1: in constant memory; 2: also the row
// through shared memory, with its edges; 3: without its edges, which come from the cache.
#define KEPT(x) (min(max((x), 0.0), 1.0))

__constant__ float constant_mask[64];

__global__ void blur(const float *row, const float *mask, float *out, int taps, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int start = i - taps / 2;
    float sum = 0;
#if FORM <= 1
#if FORM == 0
    if (i >= width) return;
    const float *factors = mask;
#else
    const float *factors = constant_mask;
#endif
    for (int k = 0; k < taps; ++k)
        if (start + k >= 0 && start + k < width) sum += row[start + k] * factors[k];
#elif FORM == 2
    extern __shared__ float part[];
    int edge = taps / 2, t = threadIdx.x, size = blockDim.x;
    int left = (blockIdx.x - 1) * size + t, right = (blockIdx.x + 1) * size + t;
    if (t >= size - edge) part[t - (size - edge)] = left < 0 ? 0 : row[left];
    part[edge + t] = row[i];
    if (t < edge) part[edge + size + t] = right >= width ? 0 : row[right];
    __syncthreads();
    for (int k = 0; k < taps; ++k) sum += part[t + k] * constant_mask[k];
#else
    extern __shared__ float part[];
    part[threadIdx.x] = row[i];
    __syncthreads();
    int first = blockIdx.x * blockDim.x, next = (blockIdx.x + 1) * blockDim.x;
    for (int k = 0; k < taps; ++k) {
        int at = start + k;
        if (at >= 0 && at < width) {
            if (at >= first && at < next)
                sum += part[threadIdx.x + k - taps / 2] * constant_mask[k];
            else
                sum += row[at] * constant_mask[k];
        }
    }
#endif
    out[i] = KEPT(sum);
}
