// Transpose of a matrix, one thread per element: rows are read along the warp, and columns written.

__global__ void transpose(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    out[x * height + y] = in[y * width + x];
}
