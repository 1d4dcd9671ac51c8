struct Cloud {
    float *x, *y, *z;
    const float *mass;
    int count;
};

__device__ float squared(const Cloud &c, int i, int j) {
    float dx = c.x[i] - c.x[j], dy = c.y[i] - c.y[j], dz = c.z[i] - c.z[j];
    return dx * dx + dy * dy + dz * dz;
}

__global__ void attract(Cloud cloud, const int *near, float *potential, int neighbours) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cloud.count) return;
    float sum = 0;
    for (int k = 0; k < neighbours; k++) {
        int j = near[k * cloud.count + i];
        sum += cloud.mass[j] / (squared(cloud, i, j) + 0.01f);
    }
    potential[i] = sum;
}
