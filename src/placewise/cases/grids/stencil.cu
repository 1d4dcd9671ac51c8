// One Jacobi step of the heat equation on a grid in three dimensions, x fastest: a thread owns a
// column along z and keeps its upper and lower neighbours in registers.

__global__ void stencil(const float *in, float *out, float centre, float neighbour,
                        int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1) return;

    int layer = nx * ny;
    int i = y * nx + x;
    float below = in[i];
    float here = in[i + layer];
    for (int z = 1; z < nz - 1; z++) {
        i += layer;
        float above = in[i + layer];
        float around = below + above + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx];
        out[i] = neighbour * around - centre * here;
        below = here;
        here = above;
    }
}
