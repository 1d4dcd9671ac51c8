// Neighbourhoods on grids and images.

__global__ void jacobi(float* next, const float* now, const float* heat, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x <= 0 || y <= 0 || x >= nx - 1 || y >= ny - 1) return;
    int i = y * nx + x;
    next[i] = 0.25f * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] + heat[i]);
}

__global__ void sobel(unsigned char* out, const unsigned char* in, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int gx = 0, gy = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            int u = min(max(x + dx, 0), width - 1);
            int v = min(max(y + dy, 0), height - 1);
            int p = in[v * width + u];
            gx += p * dx * (2 - dy * dy);
            gy += p * dy * (2 - dx * dx);
        }
    }
    int m = abs(gx) + abs(gy);
    out[y * width + x] = m > 255 ? 255 : m;
}

__global__ void life(unsigned char* next, const unsigned char* now, int n) {
    __shared__ unsigned char tile[18][18];
    int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
    for (int j = threadIdx.y * 16 + threadIdx.x; j < 18 * 18; j += 256) {
        int x = (x0 + j % 18 + n) % n, y = (y0 + j / 18 + n) % n;
        tile[j / 18][j % 18] = now[y * n + x];
    }
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int around = tile[ty - 1][tx - 1] + tile[ty - 1][tx] + tile[ty - 1][tx + 1]
               + tile[ty][tx - 1] + tile[ty][tx + 1]
               + tile[ty + 1][tx - 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 1];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) next[y * n + x] = around == 3 || (around == 2 && tile[ty][tx]);
}

__constant__ int taps[9];

__global__ void filter(int* out, const int* in, int n) {
    extern __shared__ int line[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    line[t + 4] = i < n ? in[i] : 0;
    if (t < 4) {
        line[t] = i >= 4 ? in[i - 4] : 0;
        int after = i + blockDim.x;
        line[t + 4 + blockDim.x] = after < n ? in[after] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k) sum += taps[k] * line[t + k];
    out[i] = sum;
}
