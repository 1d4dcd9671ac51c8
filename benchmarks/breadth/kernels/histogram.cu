// Counts of values by atomic additions; FORM 0: in global memory, 1: in shared memory first.
__global__ void histogram(const unsigned *values, unsigned *counts, unsigned n, unsigned bins)
{
    unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned step = blockDim.x * gridDim.x;
#if FORM == 0
    for (unsigned bin = first; bin < bins; bin += step) counts[bin] = 0;
    __syncthreads();
    for (unsigned i = first; i < n; i += step) atomicAdd(&counts[values[i]], 1);
#else
    extern __shared__ unsigned own[];
    for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (unsigned i = first; i < n; i += step) atomicAdd(&own[values[i]], 1);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
#endif
}
