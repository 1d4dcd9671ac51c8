// One step of Gaussian elimination without pivoting on the n x n system a x = b: the multipliers of
// the rows below the pivot a[step][step], then their rows less the multiples of the pivot's row.

__global__ void fan1(float *multipliers, const float *a, int n, int step) {
    int row = step + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    multipliers[row * n + step] = a[row * n + step] / a[step * n + step];
}

__global__ void fan2(const float *multipliers, float *a, float *b, int n, int step) {
    int row = step + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int column = step + blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;

    float multiplier = multipliers[row * n + step];
    a[row * n + column] -= multiplier * a[step * n + column];
    if (column == step)
        b[row] -= multiplier * b[step];
}
