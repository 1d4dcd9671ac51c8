#define AT(x, y) ((y) * n + (x))

// Placed by Placewise:
//   src: shared (a tile of 4 x 18 elements per block)
//   dst: shared (a tile of 4 x 16 elements per block)
// Sizes hold for block 16x4x1.
/* Horizontal blur of an n x n image. */
__global__ void blur(const float *src, const float *weights, float *dst, int n)
{
    if (blockDim.x != 16 || blockDim.y != 4 || blockDim.z != 1) __trap();
    const int tile_thread = threadIdx.x + 16 * threadIdx.y;
    __shared__ __align__(16) float src_tile[72];
    const int src_row = int(blockIdx.y * blockDim.y);
    const int src_column = int(blockIdx.x * blockDim.x) - 1;
    __shared__ __align__(16) float dst_tile[64];
    const int dst_row = int(blockIdx.y * blockDim.y);
    const int dst_column = int(blockIdx.x * blockDim.x);
    for (int t = tile_thread; t < 72; t += 64) {
        const int tile_row = src_row + t / 18;
        const int tile_column = src_column + t % 18;
        src_tile[t] = tile_row < n && tile_column >= 0 && tile_column < n ? src[tile_row * n + tile_column] : 0;
    }
    __syncthreads();
    auto body = [&]() {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= n - 1 || y >= n) return;
    // src[AT(x, y)] is the pixel itself
    dst_tile[(y - dst_row) * 16 + (x - dst_column)] = weights[0] * src_tile[(y - src_row) * 18 + (x - 1 - src_column)] + weights[1] * src_tile[(y - src_row) * 18 + (x - src_column)]
                  + weights[2] * src_tile[(y - src_row) * 18 + (x + 1 - src_column)];
    };
    body();
    __syncthreads();
    for (int t = tile_thread; t < 64; t += 64) {
        const int tile_row = dst_row + t / 16;
        const int tile_column = dst_column + t % 16;
        if (tile_row < n && tile_column >= 1 && tile_column < n - 1) dst[tile_row * n + tile_column] = dst_tile[t];
    }
}
