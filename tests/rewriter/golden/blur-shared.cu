#define AT(x, y) ((y) * n + (x))

// Placed by Placewise:
//   src: shared (a tile of 4 x 18 elements per block)
//   dst: shared (a tile of 4 x 16 elements per block)
// Sizes hold for grid 4x16x1, block 16x4x1, n = 64.
/* Horizontal blur of an n x n image. */
__global__ void blur(const float *src, const float *weights, float *dst, int n)
{
    extern __shared__ __align__(16) unsigned char block_tiles[];
    const int tile_thread = threadIdx.x + blockDim.x * threadIdx.y;
    const int tile_threads = blockDim.x * blockDim.y;
    float *src_tile = reinterpret_cast<float *>(block_tiles + 0);
    const int src_row = int(blockIdx.y * blockDim.y);
    const int src_column = int(blockIdx.x * blockDim.x) - 1;
    float *dst_tile = reinterpret_cast<float *>(block_tiles + 288);
    const int dst_row = int(blockIdx.y * blockDim.y);
    const int dst_column = int(blockIdx.x * blockDim.x);
    for (int t = tile_thread; t < 72; t += tile_threads) {
        const long long at = (long long)(src_row + t / 18) * n + src_column + t % 18;
        if (at >= 0 && at < 4096)
            src_tile[t] = src[at];
    }
    for (int t = tile_thread; t < 64; t += tile_threads) {
        const long long at = (long long)(dst_row + t / 16) * n + dst_column + t % 16;
        if (at >= 0 && at < 4096)
            dst_tile[t] = dst[at];
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
    for (int t = tile_thread; t < 64; t += tile_threads) {
        const long long at = (long long)(dst_row + t / 16) * n + dst_column + t % 16;
        if (at >= 0 && at < 4096 && dst_column + t % 16 >= 0 && dst_column + t % 16 < n)
            dst[at] = dst_tile[t];
    }
}
