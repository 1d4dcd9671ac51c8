// y = A x, a thread for each row.
extern "C" __global__ void matrix_vector(const float *A, const float *x, float *y, int n, int m)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0;
    for (int k = 0; k < m; k++) sum += A[row * m + k] * x[k];
    y[row] = sum;
}
