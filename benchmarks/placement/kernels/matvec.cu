// y = A x for a batch of row-major matrices: one thread per row, one row of blocks per matrix.
__global__ void matvec(const float *A, const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int batch = blockIdx.y;
    if (row < rows) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++)
            sum += A[(batch * rows + row) * cols + c] * x[batch * cols + c];
        y[batch * rows + row] = sum;
    }
}
