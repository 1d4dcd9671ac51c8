// How often each of 256 values occurs: each thread counts every so many bytes.
__global__ void histogram(const unsigned char *data, unsigned int *bins, int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&bins[data[i]], 1u);
}
