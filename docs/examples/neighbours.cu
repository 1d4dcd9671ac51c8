__global__ void forces(const float *x, const float *y, const float *z, const int *near, float *potential,
                       int n, int neighbours) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < neighbours; k++) {
        int j = near[k * n + i];
        float dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
        sum += 1 / (dx * dx + dy * dy + dz * dz + 0.01f);
    }
    potential[i] = sum;
}
