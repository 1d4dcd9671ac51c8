// Softmax of each row of a matrix: one thread per row.
__global__ void softmax(const float *in, float *out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float largest = in[row * cols];
    for (int c = 1; c < cols; c++)
        largest = fmaxf(largest, in[row * cols + c]);
    float sum = 0.0f;
    for (int c = 0; c < cols; c++)
        sum += expf(in[row * cols + c] - largest);
    for (int c = 0; c < cols; c++)
        out[row * cols + c] = expf(in[row * cols + c] - largest) / sum;
}
