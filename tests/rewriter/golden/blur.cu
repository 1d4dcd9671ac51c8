#define AT(x, y) ((y) * n + (x))

/* Horizontal blur of an n x n image. */
__global__ void blur(const float *src, const float *weights, float *dst, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= n - 1 || y >= n) return;
    // src[AT(x, y)] is the pixel itself
    dst[AT(x, y)] = weights[0] * src[y * n + x - 1] + weights[1] * src[y * n + x]
                  + weights[2] * src[y * n + x + 1];
}
