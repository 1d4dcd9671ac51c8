// Sum of two square matrices, a thread per element; FORM 1: neighbouring threads in a row, 0: in a column.
__global__ void add(const float *a, const float *b, float *sum, int rows, int columns)
{
#if FORM == 1
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
#else
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
#endif
    if (row < rows && column < columns) {
        int at = row * columns + column;
        sum[at] = a[at] + b[at];
    }
}
