#define AT(x, y) ((y) * n + (x))

// Placed by Placewise:
//   src: readonly (__ldg)
//   weights: constant (weights_const, filled by the host)
// Sizes hold for grid 4x16x1, block 16x4x1, n = 64.
__constant__ float weights_const[3];

/* Horizontal blur of an n x n image. */
__global__ void blur(const float *src, float *dst, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= n - 1 || y >= n) return;
    // src[AT(x, y)] is the pixel itself
    dst[AT(x, y)] = weights_const[0] * __ldg(&src[y * n + x - 1]) + weights_const[1] * __ldg(&src[y * n + x])
                  + weights_const[2] * __ldg(&src[y * n + x + 1]);
}
