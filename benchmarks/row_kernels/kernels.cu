// A thread for each row, as a first version has it.
__global__ void layer_norm(
    float *out, const float *in, const float *weight, const float *bias, int rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const float *x = in + i * n;
    float mean = 0.0f;
    for (int c = 0; c < n; c++) mean += x[c];
    mean /= n;
    float variance = 0.0f;
    for (int c = 0; c < n; c++) {
        float d = x[c] - mean;
        variance += d * d;
    }
    float scale = rsqrtf(variance / n + 1e-5f);
    for (int c = 0; c < n; c++) out[i * n + c] = (x[c] - mean) * scale * weight[c] + bias[c];
}

__global__ void softmax(float *out, const float *in, int rows, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float most = -INFINITY, sum = 0.0f;
        for (int c = 0; c < n; c++) most = fmaxf(most, in[row * n + c]);
        for (int c = 0; c < n; c++) sum += expf(in[row * n + c] - most);
        for (int c = 0; c < n; c++) out[row * n + c] = expf(in[row * n + c] - most) / sum;
    }
}

__global__ void quantize(signed char *out, float *scales, const float *in, int rows, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    in += row * n;
    float most = 0.0f;
    for (int c = 0; c < n; c++) most = fmaxf(most, fabsf(in[c]));
    scales[row] = most / 127.0f;
    for (int c = 0; c < n; c++) out[row * n + c] = (signed char)rintf(in[c] / most * 127.0f);
}

// A thread for each query, the softmax updated with each key.
template <int D>
__global__ void attention(
    const float *__restrict__ Q, const float *__restrict__ K, const float *__restrict__ V,
    float *__restrict__ O, int queries, float scale)
{
    int head = blockIdx.y;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= queries) return;
    Q += head * queries * D;
    K += head * queries * D;
    V += head * queries * D;
    O += head * queries * D;
    float q[D], sums[D];
    for (int d = 0; d < D; d++) {
        q[d] = Q[t * D + d] * scale;
        sums[d] = 0.0f;
    }
    float most = -INFINITY, total = 0.0f;
    for (int s = 0; s < queries; s++) {
        float score = 0.0f;
        for (int d = 0; d < D; d++) score += q[d] * K[s * D + d];
        float larger = fmaxf(most, score);
        float kept = __expf(most - larger), p = __expf(score - larger);
        total = total * kept + p;
        for (int d = 0; d < D; d++) sums[d] = sums[d] * kept + p * V[s * D + d];
        most = larger;
    }
    for (int d = 0; d < D; d++) O[t * D + d] = sums[d] / total;
}

// Softmax of each row, a thread for each: the exponentials are written first, then divided.
__global__ void softmax_divided(float *out, const float *in, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float most = -INFINITY;
    for (int c = 0; c < n; c++) most = fmaxf(most, in[r * n + c]);
    float sum = 0.0f;
    for (int c = 0; c < n; c++) {
        float e = expf(in[r * n + c] - most);
        out[r * n + c] = e;
        sum += e;
    }
    for (int c = 0; c < n; c++) out[r * n + c] /= sum;
}

// Each row is scaled to length 1 in place, a thread for each.
__global__ void unit_length(float *x, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float *row = x + r * n;
    float squares = 0.0f;
    for (int c = 0; c < n; c++) squares += row[c] * row[c];
    float scale = rsqrtf(squares + 1e-12f);
    for (int c = 0; c < n; c++) row[c] *= scale;
}

// The running sum of each row, a thread for each.
__global__ void running_sum(float *out, const float *in, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    out[r * n] = in[r * n];
    for (int c = 1; c < n; c++) out[r * n + c] = out[r * n + c - 1] + in[r * n + c];
}

// Each thread has neighbouring elements of its own, as threads of a CPU have.
__global__ void blend(float *y, const float *x, float share, int n, int per) {
    int start = (blockIdx.x * blockDim.x + threadIdx.x) * per;
    int end = min(start + per, n);
    for (int i = start; i < end; i++) y[i] = share * x[i] + (1.0f - share) * y[i];
}
