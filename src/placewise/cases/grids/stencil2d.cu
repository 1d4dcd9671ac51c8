// One step of a nine-point stencil on a grid of `rows` x `columns` cells with a border of one cell:
// a block stages its SIDE x SIDE cells and those around them in shared memory.

__global__ void stencil2d(const float *data, float *result, float centre, float edge, float corner,
                          int rows, int columns) {
    __shared__ float tile[SIDE + 2][SIDE + 2];
    int width = columns + 2;
    int top = blockIdx.y * SIDE;
    int left = blockIdx.x * SIDE;
    for (int y = threadIdx.y; y < SIDE + 2; y += SIDE)
        for (int x = threadIdx.x; x < SIDE + 2; x += SIDE)
            if (top + y < rows + 2 && left + x < width)
                tile[y][x] = data[(top + y) * width + left + x];
    __syncthreads();

    int x = threadIdx.x + 1;
    int y = threadIdx.y + 1;
    if (top + y > rows || left + x > columns) return;
    float edges = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
    float corners =
        tile[y - 1][x - 1] + tile[y - 1][x + 1] + tile[y + 1][x - 1] + tile[y + 1][x + 1];
    result[(top + y) * width + left + x] =
        centre * tile[y][x] + edge * edges + corner * corners;
}
