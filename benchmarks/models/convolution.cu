// A 15 x 15 convolution in two dimensions as an autotuner measured it, written from its description.
// A block computes (block_size_x * tile_size_x) x (block_size_y * tile_size_y) outputs, a thread every
// block_size_x-th column and block_size_y-th row of them. use_shmem: the block first copies the inputs
// it needs into shared memory. read_only: inputs are loaded with __ldg, at an address that is made step
// by step. use_padding: rows in shared memory are lengthened where that could avoid bank conflicts.
// Accesses are tested only where the tiles do not divide the image; without shared memory the test is
// of the output's place, not of the input's. Nothing tells the compiler the number of threads.
#define SIDE 4096
#define HALO (filter_width - 1)
#define INPUT_SIDE (SIDE + HALO)
#define COLUMNS (block_size_x * tile_size_x)
#define ROWS (block_size_y * tile_size_y)
#define CUT (SIDE % ROWS != 0 || SIDE % COLUMNS != 0)
#define WIDTH (COLUMNS + HALO)
#if use_padding && block_size_x % 32 != 0 && (WIDTH - block_size_x) % 32 != 0
#define PITCH (WIDTH + ((32 - (WIDTH - block_size_x)) & 31))
#else
#define PITCH WIDTH
#endif
#if read_only
#define LOAD(a, i) __ldg(a + i)
#else
#define LOAD(a, i) a[i]
#endif

__constant__ float taps[33 * 33];

extern "C" __global__ void convolve(float *output, float *input) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * COLUMNS, row = blockIdx.y * ROWS;

#if use_shmem
    __shared__ float staged[ROWS + HALO][PITCH];
#pragma unroll
    for (int i = ty; i < ROWS + HALO; i += block_size_y) {
#pragma unroll
        for (int j = tx; j < WIDTH; j += block_size_x) {
            const int y = row + i, x = column + j;
            float value = 0.0f;
#if CUT
            if (y < INPUT_SIDE && x < INPUT_SIDE)
#endif
                value = LOAD(input, y * INPUT_SIDE + x);
            staged[i][j] = value;
        }
    }
    __syncthreads();
#endif

    float sum[tile_size_y][tile_size_x];
#pragma unroll
    for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
        for (int u = 0; u < tile_size_x; u++) sum[v][u] = 0.0f;
    }

#pragma unroll
    for (int i = 0; i < filter_height; i++) {
#pragma unroll
        for (int j = 0; j < filter_width; j++) {
#pragma unroll
            for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
                for (int u = 0; u < tile_size_x; u++) {
                    const float tap = taps[i * filter_width + j];
#if use_shmem
                    const float value = staged[ty + v * block_size_y + i][tx + u * block_size_x + j];
#else
                    const int x = column + tx + u * block_size_x + j;
                    const int y = row + ty + v * block_size_y + i;
                    float value = 0.0f;
#if CUT
                    if (row + ty + v * block_size_y < INPUT_SIDE && column + tx + u * block_size_x < INPUT_SIDE)
#endif
                        value = LOAD(input, y * INPUT_SIDE + x);
#endif
                    sum[v][u] += value * tap;
                }
            }
        }
    }

#pragma unroll
    for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
        for (int u = 0; u < tile_size_x; u++) {
            const int y = row + ty + v * block_size_y, x = column + tx + u * block_size_x;
#if CUT
            if (y < SIDE && x < SIDE)
#endif
                output[y * SIDE + x] = sum[v][u];
        }
    }
}
