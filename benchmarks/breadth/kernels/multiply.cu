// Product of matrices of whole numbers. FORM 0: a thread per element, from global memory; 1: through square tiles.
__global__ void multiply(const unsigned *a, const unsigned *b, unsigned *c, int rows, int inner, int columns)
{
#if FORM == 0
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    unsigned sum = 0;
    for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
#else
    extern __shared__ unsigned tiles[];
    const int width = blockDim.x, x = threadIdx.x, y = threadIdx.y;
    unsigned *of_a = tiles, *of_b = tiles + width * width;
    int row = blockIdx.y * width + y, column = blockIdx.x * width + x;
    unsigned sum = 0;
    for (int tile = 0; tile < (inner + width - 1) / width; ++tile) {
        int across = tile * width + x, down = tile * width + y;
        of_a[y * width + x] = row < rows && across < inner ? a[row * inner + across] : 0;
        of_b[y * width + x] = down < inner && column < columns ? b[down * columns + column] : 0;
        __syncthreads();
        for (int k = 0; k < width; ++k) sum += of_a[y * width + k] * of_b[k * width + x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
#endif
}
