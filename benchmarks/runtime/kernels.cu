// Conjugate gradients on a sparse matrix in CSR form.

extern "C" __global__ void spmv(const int *row, const int *column, const float *value,
                                const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = row[i]; k < row[i + 1]; k++) sum += value[k] * x[column[k]];
    y[i] = sum;
}

extern "C" __global__ void dot(const float *x, const float *y, float *part, int n) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) sum += x[i] * y[i];
    sums[t] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) part[blockIdx.x] = sums[0];
}

extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void xpay(const float *x, float a, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + a * y[i];
}

// k-means: sums in whole numbers, so that the order of atomics does not matter.

extern "C" __global__ void assign(const float *points, const float *centres, int *label, int n,
                                  int k, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.4e38f;
    int at = 0;
    for (int c = 0; c < k; c++) {
        float s = 0.0f;
        for (int j = 0; j < d; j++) {
            float t = points[j * n + i] - centres[c * d + j];
            s += t * t;
        }
        if (s < best) {
            best = s;
            at = c;
        }
    }
    label[i] = at;
}

extern "C" __global__ void accumulate(const float *points, const int *label, int *sums, int *counts,
                                      int n, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = label[i];
    atomicAdd(&counts[c], 1);
    for (int j = 0; j < d; j++) atomicAdd(&sums[c * d + j], (int)(points[j * n + i] * 16384.0f));
}

extern "C" __global__ void divide(const int *sums, const int *counts, float *centres, int k,
                                  int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= k * d) return;
    int count = counts[i / d];
    if (count > 0) centres[i] = (float)sums[i] / (16384.0f * (float)count);
}

// Heat in a plate of varying conductivity, with a source that is a table over time.

extern "C" __global__ void heat(const float *now, const float *conductivity, float *next, int nx,
                                int ny, float dt) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    float c = now[y * nx + x];
    float flow = now[y * nx + x - 1] + now[y * nx + x + 1] + now[(y - 1) * nx + x] +
                 now[(y + 1) * nx + x] - 4.0f * c;
    next[y * nx + x] = c + dt * conductivity[y * nx + x] * flow;
}

extern "C" __global__ void borders(float *field, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx) {
        field[i] = field[nx + i];
        field[(ny - 1) * nx + i] = field[(ny - 2) * nx + i];
    }
    if (i < ny) {
        field[i * nx] = field[i * nx + 1];
        field[i * nx + nx - 1] = field[i * nx + nx - 2];
    }
}

extern "C" __global__ void warm(const float *table, float *field, int nx, int step, int period,
                                int x0, int y0, int width) {
    int x = threadIdx.x;
    int y = blockIdx.x;
    if (x < width) field[(y0 + y) * nx + x0 + x] += table[step % period];
}
