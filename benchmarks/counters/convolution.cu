// A 15 x 15 convolution in two dimensions as it was measured under a profiler: a block computes
// (BLOCK_X * TILE_X) x (BLOCK_Y * TILE_Y) outputs from a tile of the input that it has staged in
// shared memory, a thread every BLOCK_X-th column and BLOCK_Y-th row of them. Tests against the
// image's border are only there where the tiles do not divide it. Nothing tells the compiler the
// number of threads. READ_ONLY: inputs are loaded with __ldg, at an address that is made step by step.
#define FILTER 15
#define COLUMNS (BLOCK_X * TILE_X)
#define ROWS (BLOCK_Y * TILE_Y)
#define INPUT_WIDTH (WIDTH + FILTER - 1)
#define INPUT_HEIGHT (HEIGHT + FILTER - 1)
#define CUT ((HEIGHT % ROWS) != 0 || (WIDTH % COLUMNS) != 0)
#if READ_ONLY
#define LOAD(a, i) __ldg(a + i)
#else
#define LOAD(a, i) a[i]
#endif

__constant__ float taps[FILTER * FILTER];

extern "C" __global__ void convolve(float *output, const float *input) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * COLUMNS, row = blockIdx.y * ROWS;

    __shared__ float staged[ROWS + FILTER - 1][COLUMNS + FILTER - 1];
#pragma unroll
    for (int i = ty; i < ROWS + FILTER - 1; i += BLOCK_Y) {
#pragma unroll
        for (int j = tx; j < COLUMNS + FILTER - 1; j += BLOCK_X) {
#if CUT
            const int y = row + i, x = column + j;
            if (y < INPUT_HEIGHT && x < INPUT_WIDTH) staged[i][j] = LOAD(input, y * INPUT_WIDTH + x);
#else
            staged[i][j] = LOAD(input, (row + i) * INPUT_WIDTH + (column + j));
#endif
        }
    }
    __syncthreads();

    float sum[TILE_Y][TILE_X] = {};
#pragma unroll
    for (int i = 0; i < FILTER; i++) {
#pragma unroll
        for (int j = 0; j < FILTER; j++) {
#pragma unroll
            for (int v = 0; v < TILE_Y; v++) {
#pragma unroll
                for (int u = 0; u < TILE_X; u++) {
                    sum[v][u] += staged[ty + v * BLOCK_Y + i][tx + u * BLOCK_X + j]
                                 * taps[i * FILTER + j];
                }
            }
        }
    }

#pragma unroll
    for (int v = 0; v < TILE_Y; v++) {
#pragma unroll
        for (int u = 0; u < TILE_X; u++) {
            const int y = row + ty + v * BLOCK_Y, x = column + tx + u * BLOCK_X;
#if CUT
            if (y < HEIGHT && x < WIDTH) output[y * WIDTH + x] = sum[v][u];
#else
            output[y * WIDTH + x] = sum[v][u];
#endif
        }
    }
}
