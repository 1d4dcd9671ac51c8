// 15 x 15 convolution of an image, zero outside: one thread per pixel.
#define RADIUS 7
__global__ void convolve(const float *image, const float *filter, float *result,
                         int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int xx = x + dx;
            int yy = y + dy;
            if (xx >= 0 && xx < width && yy >= 0 && yy < height) {
                sum += image[yy * width + xx] *
                       filter[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS];
            }
        }
    }
    result[y * width + x] = sum;
}
