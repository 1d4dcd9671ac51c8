// c = alpha a b + beta c for row-major matrices of SIZE x SIZE floats, as a ladder: FORM 1: a thread per element,
// neighbours in a column; 2: neighbours in a row; 3: square tiles of 32; 4: tiles of 64 x 64 with 8 results a thread;
// 5: tiles of 128 x 128 with 8 x 8 results a thread; 6: the same with loads of four floats and the tile of a transposed.
// Written from the description in Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance".
#define DEPTH 8

__global__ void sgemm(const float *a, const float *b, float *c, float alpha, float beta)
{
#if FORM == 1
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= SIZE || column >= SIZE) return;
    float sum = 0.0f;
    for (int k = 0; k < SIZE; ++k) sum += a[row * SIZE + k] * b[k * SIZE + column];
    c[row * SIZE + column] = alpha * sum + beta * c[row * SIZE + column];
#elif FORM == 2
    const int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    if (row >= SIZE || column >= SIZE) return;
    float sum = 0.0f;
    for (int k = 0; k < SIZE; ++k) sum += a[row * SIZE + k] * b[k * SIZE + column];
    c[row * SIZE + column] = alpha * sum + beta * c[row * SIZE + column];
#elif FORM == 3
    __shared__ float of_a[32 * 32], of_b[32 * 32];
    const int y = threadIdx.x / 32, x = threadIdx.x % 32;
    a += blockIdx.x * 32 * SIZE;
    b += blockIdx.y * 32;
    c += blockIdx.x * 32 * SIZE + blockIdx.y * 32;
    float sum = 0.0f;
    for (int tile = 0; tile < SIZE; tile += 32) {
        of_a[y * 32 + x] = a[y * SIZE + x];
        of_b[y * 32 + x] = b[y * SIZE + x];
        __syncthreads();
        a += 32;
        b += 32 * SIZE;
        for (int k = 0; k < 32; ++k) sum += of_a[y * 32 + k] * of_b[k * 32 + x];
        __syncthreads();
    }
    c[y * SIZE + x] = alpha * sum + beta * c[y * SIZE + x];
#elif FORM == 4
    const int across = 64, down = 64, results = 8;
    __shared__ float of_a[down * DEPTH], of_b[DEPTH * across];
    const int x = threadIdx.x % across, y = threadIdx.x / across;
    const int a_x = threadIdx.x % DEPTH, a_y = threadIdx.x / DEPTH;
    const int b_x = threadIdx.x % across, b_y = threadIdx.x / across;
    a += blockIdx.y * down * SIZE;
    b += blockIdx.x * across;
    c += blockIdx.y * down * SIZE + blockIdx.x * across;
    float sums[results] = {0.0f};
    for (int tile = 0; tile < SIZE; tile += DEPTH) {
        of_a[a_y * DEPTH + a_x] = a[a_y * SIZE + a_x];
        of_b[b_y * across + b_x] = b[b_y * SIZE + b_x];
        __syncthreads();
        a += DEPTH;
        b += DEPTH * SIZE;
        for (int k = 0; k < DEPTH; ++k) {
            const float factor = of_b[k * across + x];
            for (int r = 0; r < results; ++r) sums[r] += of_a[(y * results + r) * DEPTH + k] * factor;
        }
        __syncthreads();
    }
    for (int r = 0; r < results; ++r) {
        const int at = (y * results + r) * SIZE + x;
        c[at] = alpha * sums[r] + beta * c[at];
    }
#else
    const int across = 128, down = 128, threads = 256;
    __shared__ float of_a[down * DEPTH], of_b[DEPTH * across];
    const int x = threadIdx.x % (across / 8), y = threadIdx.x / (across / 8);
    a += blockIdx.y * down * SIZE;
    b += blockIdx.x * across;
    c += blockIdx.y * down * SIZE + blockIdx.x * across;
    float sums[8 * 8] = {0.0f}, from_a[8], from_b[8];
#if FORM == 5
    const int a_x = threadIdx.x % DEPTH, a_y = threadIdx.x / DEPTH;
    const int b_x = threadIdx.x % across, b_y = threadIdx.x / across;
#else
    const int a_x = threadIdx.x % (DEPTH / 4), a_y = threadIdx.x / (DEPTH / 4);
    const int b_x = threadIdx.x % (across / 4), b_y = threadIdx.x / (across / 4);
#endif
    for (int tile = 0; tile < SIZE; tile += DEPTH) {
#if FORM == 5
        for (int r = 0; r < down; r += threads / DEPTH) of_a[(a_y + r) * DEPTH + a_x] = a[(a_y + r) * SIZE + a_x];
        for (int r = 0; r < DEPTH; r += threads / across) of_b[(b_y + r) * across + b_x] = b[(b_y + r) * SIZE + b_x];
#else
        const float4 four = reinterpret_cast<const float4 *>(&a[a_y * SIZE + a_x * 4])[0];
        of_a[(a_x * 4 + 0) * down + a_y] = four.x;
        of_a[(a_x * 4 + 1) * down + a_y] = four.y;
        of_a[(a_x * 4 + 2) * down + a_y] = four.z;
        of_a[(a_x * 4 + 3) * down + a_y] = four.w;
        reinterpret_cast<float4 *>(&of_b[b_y * across + b_x * 4])[0] =
            reinterpret_cast<const float4 *>(&b[b_y * SIZE + b_x * 4])[0];
#endif
        __syncthreads();
        a += DEPTH;
        b += DEPTH * SIZE;
        for (int k = 0; k < DEPTH; ++k) {
#if FORM == 5
            for (int r = 0; r < 8; ++r) from_a[r] = of_a[(y * 8 + r) * DEPTH + k];
#else
            for (int r = 0; r < 8; ++r) from_a[r] = of_a[k * down + y * 8 + r];
#endif
            for (int s = 0; s < 8; ++s) from_b[s] = of_b[k * across + x * 8 + s];
            for (int r = 0; r < 8; ++r)
                for (int s = 0; s < 8; ++s) sums[r * 8 + s] += from_a[r] * from_b[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; ++r)
#if FORM == 5
        for (int s = 0; s < 8; ++s) {
            const int at = (y * 8 + r) * SIZE + x * 8 + s;
            c[at] = alpha * sums[r * 8 + s] + beta * c[at];
        }
#else
        for (int s = 0; s < 8; s += 4) {
            float4 *at = reinterpret_cast<float4 *>(&c[(y * 8 + r) * SIZE + x * 8 + s]);
            float4 now = *at;
            now.x = alpha * sums[r * 8 + s] + beta * now.x;
            now.y = alpha * sums[r * 8 + s + 1] + beta * now.y;
            now.z = alpha * sums[r * 8 + s + 2] + beta * now.z;
            now.w = alpha * sums[r * 8 + s + 3] + beta * now.w;
            *at = now;
        }
#endif
#endif
}
