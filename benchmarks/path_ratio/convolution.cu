// A 15 x 15 convolution in two dimensions, as autotuners tile it: a block computes
// (BLOCK_X * TILE_X) x (BLOCK_Y * TILE_Y) outputs, a thread every BLOCK_X-th column and BLOCK_Y-th
// row of them. STAGED: the block first copies the inputs it needs into shared memory, in rows of
// PITCH elements. READ_ONLY: inputs are loaded with __ldg. The image has WIDTH x HEIGHT pixels; the
// input is larger by the filter's width less one in both dimensions. Where the tiles do not divide
// the image, every access is tested for standing out of it.
#define FILTER 15
#define COLUMNS (BLOCK_X * TILE_X)
#define ROWS (BLOCK_Y * TILE_Y)
#define INPUT_WIDTH (WIDTH + FILTER - 1)
#define INPUT_HEIGHT (HEIGHT + FILTER - 1)
#define IN_ROWS(y, rows) (HEIGHT % ROWS == 0 || (y) < (rows))
#define IN_COLUMNS(x, columns) (WIDTH % COLUMNS == 0 || (x) < (columns))

__constant__ float taps[FILTER * FILTER];

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
convolve(float *output, const float *input) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * COLUMNS, row = blockIdx.y * ROWS;
    float sum[TILE_Y][TILE_X] = {};

#if STAGED
    __shared__ float staged[(ROWS + FILTER - 1) * PITCH];
#pragma unroll
    for (int i = ty; i < ROWS + FILTER - 1; i += BLOCK_Y) {
#pragma unroll
        for (int j = tx; j < COLUMNS + FILTER - 1; j += BLOCK_X) {
            if (!IN_ROWS(row + i, INPUT_HEIGHT) || !IN_COLUMNS(column + j, INPUT_WIDTH)) continue;
#if READ_ONLY
            staged[i * PITCH + j] = __ldg(&input[(row + i) * INPUT_WIDTH + column + j]);
#else
            staged[i * PITCH + j] = input[(row + i) * INPUT_WIDTH + column + j];
#endif
        }
    }
    __syncthreads();
#endif

#pragma unroll
    for (int i = 0; i < FILTER; i++) {
#pragma unroll
        for (int j = 0; j < FILTER; j++) {
#pragma unroll
            for (int v = 0; v < TILE_Y; v++) {
#pragma unroll
                for (int u = 0; u < TILE_X; u++) {
                    const int y = ty + v * BLOCK_Y + i, x = tx + u * BLOCK_X + j;
                    float value = 0.0f;
#if STAGED
                    value = staged[y * PITCH + x];
#else
                    if (IN_ROWS(row + y, INPUT_HEIGHT) && IN_COLUMNS(column + x, INPUT_WIDTH))
#if READ_ONLY
                        value = __ldg(&input[(row + y) * INPUT_WIDTH + column + x]);
#else
                        value = input[(row + y) * INPUT_WIDTH + column + x];
#endif
#endif
                    sum[v][u] += value * taps[i * FILTER + j];
                }
            }
        }
    }

#pragma unroll
    for (int v = 0; v < TILE_Y; v++) {
#pragma unroll
        for (int u = 0; u < TILE_X; u++) {
            const int y = row + ty + v * BLOCK_Y, x = column + tx + u * BLOCK_X;
            if (IN_ROWS(y, HEIGHT) && IN_COLUMNS(x, WIDTH)) output[y * WIDTH + x] = sum[v][u];
        }
    }
}
