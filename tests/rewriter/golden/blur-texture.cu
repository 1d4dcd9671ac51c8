#define AT(x, y) ((y) * n + (x))

// Placed by Placewise:
//   src: texture (tex1Dfetch)
//   weights: texture (tex1Dfetch)
/* Horizontal blur of an n x n image. */
__global__ void blur(cudaTextureObject_t src_tex, cudaTextureObject_t weights_tex, float *dst, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= n - 1 || y >= n) return;
    // src[AT(x, y)] is the pixel itself
    dst[AT(x, y)] = tex1Dfetch<float>(weights_tex, 0) * tex1Dfetch<float>(src_tex, y * n + x - 1) + tex1Dfetch<float>(weights_tex, 1) * tex1Dfetch<float>(src_tex, y * n + x)
                  + tex1Dfetch<float>(weights_tex, 2) * tex1Dfetch<float>(src_tex, y * n + x + 1);
}
