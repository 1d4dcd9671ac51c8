// Softmax of each row, a thread for each.
extern "C" __global__ void row_softmax(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float *mine = in + row * columns;
    float largest = mine[0], sum = 0;
    for (int c = 1; c < columns; c++) largest = fmaxf(largest, mine[c]);
    for (int c = 0; c < columns; c++) sum += expf(mine[c] - largest);
    for (int c = 0; c < columns; c++) out[row * columns + c] = expf(mine[c] - largest) / sum;
}
