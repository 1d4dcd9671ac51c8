// A separable blur, smoothed again and again: both passes read the same taps from global memory.

__global__ void rows(const float *in, const float *taps, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++) {
        int at = min(max(x + k, 0), width - 1);
        sum += taps[k + RADIUS] * in[y * width + at];
    }
    out[y * width + x] = sum;
}

__global__ void columns(const float *in, const float *weights, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++) {
        int at = min(max(y + k, 0), height - 1);
        sum += weights[k + RADIUS] * in[at * width + x];
    }
    out[y * width + x] = sum;
}
