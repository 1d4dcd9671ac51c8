// Three-point filter along each row; threads go along x but x is the slow dimension of the data.
extern "C" __global__ void column_filter(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y < 1 || y >= height - 1) return;
    out[x * height + y] =
        0.25f * in[x * height + y - 1] + 0.5f * in[x * height + y] + 0.25f * in[x * height + y + 1];
}
