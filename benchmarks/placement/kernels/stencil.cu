// 27-point stencil on a grid of nx x ny x nz cells: one thread per cell, the rim stays.
__global__ void stencil27(const float *in, float *out, int nx, int ny, int nz,
                          float c0, float c1, float c2, float c3) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1 || z < 1 || z >= nz - 1)
        return;
    float sum = 0.0f;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int far = (dx != 0) + (dy != 0) + (dz != 0);
                float c = far == 0 ? c0 : far == 1 ? c1 : far == 2 ? c2 : c3;
                sum += c * in[((z + dz) * ny + y + dy) * nx + x + dx];
            }
    out[(z * ny + y) * nx + x] = sum;
}
