// A matrix of N x N floats transposed in several ways; each block takes a tile.
// FORM 0: one element a thread, neighbouring lanes store a row apart. 1: through shared memory, a
// column of padding. 2 to 4 move TILE / ROWS elements a thread: 2 as 0, 3 as 1, 4 without padding.
// 6: as 0. 7: neighbouring lanes load a row apart instead.
#if FORM == 0 || FORM == 6 || FORM == 7
__global__ void transpose(const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
#if FORM == 7
    out[y * N + x] = in[x * N + y];
#else
    out[x * N + y] = in[y * N + x];
#endif
}
#else
#define TILE 32
__global__ void transpose(const float *in, float *out) {
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#if FORM == 2
    for (int k = 0; k < TILE; k += ROWS)
        out[x * N + y + k] = in[(y + k) * N + x];
#else
    __shared__ float tile[TILE][TILE + (FORM != 4)];
    for (int k = 0; k < TILE; k += ROWS)
        tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * N + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS)
        out[(y + k) * N + x] = tile[threadIdx.x][threadIdx.y + k];
#endif
}
#endif
