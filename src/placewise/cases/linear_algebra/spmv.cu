// Sparse matrix-vector product y = A x, A in compressed sparse row (CSR) form, one warp per row.

__global__ void spmv(const int *row_start, const int *columns, const float *values,
                     const float *x, float *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;

    float sum = 0.0f;
    for (int j = row_start[row] + lane; j < row_start[row + 1]; j += 32)
        sum += values[j] * x[columns[j]];

    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);

    if (lane == 0)
        y[row] = sum;
}
