// Kernels whose arrays of their own, shared or of each thread, are not where, or as, they should be.

// Sixteen counters of each thread.
__global__ void counters(const unsigned char *in, int *out, int n, int per) {
    int counts[16] = {0};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < per; k++) counts[in[k * n + i] & 15]++;
    for (int k = 0; k < 16; k++) out[k * n + i] = counts[k];
}

// Distances of the eight points nearest to each query, by insertion.
__global__ void nearest(const float *px, const float *py, const float *qx, const float *qy,
                        float *out, int points, int n) {
    float best[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; k++) best[k] = 1e30f;
    float x = qx[i], y = qy[i];
    for (int p = 0; p < points; p++) {
        float d = (px[p] - x) * (px[p] - x) + (py[p] - y) * (py[p] - y);
        int k = 8;
        while (k > 0 && d < best[k - 1]) {
            if (k < 8) best[k] = best[k - 1];
            k--;
        }
        if (k < 8) best[k] = d;
    }
    for (int k = 0; k < 8; k++) out[k * n + i] = best[k];
}

// A binary tree walked with a stack of each thread.
__global__ void walk(const int *left, const int *right, const float *key, const float *query,
                     float *out) {
    int todo[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, top = 0;
    float sum = 0, v = query[i];
    todo[top++] = 0;
    while (top > 0) {
        int node = todo[--top];
        if (node < 0) continue;
        sum += key[node];
        if (v < key[node] + 0.3f) { todo[top] = left[node]; top++; }
        if (v > key[node] - 0.3f) { todo[top] = right[node]; top++; }
    }
    out[i] = sum;
}

// Work-efficient exclusive prefix sum of each block's n elements.
__global__ void scan(const float *in, float *out, int n) {
    extern __shared__ float temp[];
    int t = threadIdx.x, offset = 1;
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    temp[2 * t] = in[2 * t];
    temp[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) temp[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            float x = temp[a];
            temp[a] = temp[b];
            temp[b] += x;
        }
    }
    __syncthreads();
    out[2 * t] = temp[2 * t];
    out[2 * t + 1] = temp[2 * t + 1];
}

// A transpose through a tile of one dimension.
__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[1024];
    int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 32, r = blockIdx.y * 32;
    for (int j = 0; j < 32; j += 8) tile[(y + j) * 32 + x] = in[(r + y + j) * n + c + x];
    __syncthreads();
    for (int j = 0; j < 32; j += 8) out[(c + y + j) * n + r + x] = tile[x * 32 + y + j];
}
