// Relaxation of nine directions per cell towards their mean; the directions of a cell lie together.
extern "C" __global__ void flat_lattice(const float *f, float *g, int cells, float omega)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    float density = 0;
    for (int d = 0; d < 9; d++) density += f[cell * 9 + d];
    for (int d = 0; d < 9; d++)
        g[cell * 9 + d] = f[cell * 9 + d] + omega * (density / 9 - f[cell * 9 + d]);
}
