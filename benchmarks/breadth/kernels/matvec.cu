// Product of a matrix and a vector of whole numbers, a thread per row; FORM 1: the vector through shared memory.
__global__ void matvec(unsigned *y, const unsigned *a, const unsigned *x, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#if FORM == 0
    if (row >= rows) return;
    for (int k = 0; k < columns; ++k) sum += a[row * columns + k] * x[k];
#else
    extern __shared__ unsigned tile[];
    int tiles = (columns + blockDim.x - 1) / blockDim.x;
    for (int at = 0; at < tiles; ++at) {
        int mine = at * blockDim.x + threadIdx.x;
        tile[threadIdx.x] = mine < columns ? x[mine] : 0;
        __syncthreads();
        if (row < rows)
            for (int k = 0; k < blockDim.x && at * blockDim.x + k < columns; ++k)
                sum += a[row * columns + at * blockDim.x + k] * tile[k];
        __syncthreads();
    }
#endif
    y[row] = sum;
}
