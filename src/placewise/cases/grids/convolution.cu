// Separable convolution of a grey image with 2 * radius + 1 taps: one kernel along the rows, one
// along the columns. Beyond the border the image repeats its outermost pixel.

__global__ void convolve_rows(const float *image, const float *taps, float *result,
                              int width, int height, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int column = min(max(x + k, 0), width - 1);
        sum += image[y * width + column] * taps[k + radius];
    }
    result[y * width + x] = sum;
}

__global__ void convolve_columns(const float *image, const float *taps, float *result,
                                 int width, int height, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int row = min(max(y + k, 0), height - 1);
        sum += image[row * width + x] * taps[k + radius];
    }
    result[y * width + x] = sum;
}
