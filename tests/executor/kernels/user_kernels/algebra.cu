// Dense matrices and bodies.

#define TILE 16

__global__ void transpose(float* out, const float* in, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void matrix_vector(float* y, const float* a, const float* x, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0;
    const float4* four = (const float4*)(a + row * columns);
    for (int c = lane; c < columns / 4; c += 32) {
        float4 v = four[c];
        sum += v.x * x[4 * c] + v.y * x[4 * c + 1] + v.z * x[4 * c + 2] + v.w * x[4 * c + 3];
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

__global__ void lu_step(double* a, int n, int k) {
    int row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    int column = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && column < n) a[row * n + column] -= a[row * n + k] / a[k * n + k] * a[k * n + column];
}

__global__ void lu_scale(double* a, int n, int k) {
    int row = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) a[row * n + k] /= a[k * n + k];
}

// One block factorises a small matrix in shared memory.
__global__ void cholesky(float* a, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    for (int i = t; i < n * n; i += blockDim.x) s[i] = a[i];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (t == 0) s[k * n + k] = sqrtf(s[k * n + k]);
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x) s[i * n + k] /= s[k * n + k];
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x)
            for (int j = k + 1; j <= i; ++j) s[i * n + j] -= s[i * n + k] * s[j * n + k];
        __syncthreads();
    }
    for (int i = t; i < n * n; i += blockDim.x) a[i] = i % n <= i / n ? s[i] : 0.0f;
}

__device__ float3 pull(float4 me, float4 other, float3 force, float softening) {
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    float s = other.w * inverse * inverse * inverse;
    force.x += dx * s;
    force.y += dy * s;
    force.z += dz * s;
    return force;
}

__global__ void nbody(float4* forces, const float4* bodies, int n, float softening) {
    extern __shared__ float4 near[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i < n ? i : n - 1];
    float3 force = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += blockDim.x) {
        int j = start + threadIdx.x;
        near[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) force = pull(me, near[k], force, softening);
        __syncthreads();
    }
    if (i < n) forces[i] = make_float4(force.x, force.y, force.z, 0);
}

// Radix-2 transform of blockDim.x * 2 complex numbers.
__global__ void fft(float2* data, int bits) {
    extern __shared__ float2 z[];
    int n = 2 * blockDim.x, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) z[__brev(i) >> (32 - bits)] = data[i];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        int at = t / half * 2 * half + t % half;
        float s, c;
        sincospif(-(float)(t % half) / half, &s, &c);
        float2 a = z[at], b = z[at + half];
        float2 w = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        z[at] = make_float2(a.x + w.x, a.y + w.y);
        z[at + half] = make_float2(a.x - w.x, a.y - w.y);
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) data[i] = z[i];
}
