// Discrete Fourier transforms of 512 complex numbers each, one per block of 64 threads: three passes
// of radix 8 (Stockham's order), between which the numbers change hands through shared memory.

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i turns)
__device__ float2 unit(float turns) {
    float sine, cosine;
    sincospif(-2.0f * turns, &sine, &cosine);
    return make_float2(cosine, sine);
}

__device__ void butterfly(float2 &a, float2 &b) {
    float2 difference = a - b;
    a = a + b;
    b = difference;
}

// Transform of eight numbers; number k of the result is at the place of k's three bits reversed.
__device__ void transform8(float2 (&v)[8]) {
    const float half = 0.70710678f;
    for (int i = 0; i < 4; i++)
        butterfly(v[i], v[i + 4]);
    v[5] = v[5] * make_float2(half, -half);
    v[6] = make_float2(v[6].y, -v[6].x);
    v[7] = v[7] * make_float2(-half, -half);
    for (int i = 0; i < 8; i += 4) {
        butterfly(v[i], v[i + 2]);
        butterfly(v[i + 1], v[i + 3]);
        v[i + 3] = make_float2(v[i + 3].y, -v[i + 3].x);
        butterfly(v[i], v[i + 1]);
        butterfly(v[i + 2], v[i + 3]);
    }
}

__global__ void fft512(const float2 *in, float2 *out) {
    __shared__ float2 exchange[512];
    const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    int thread = threadIdx.x;
    int first = blockIdx.x * 512;

    float2 v[8];
    for (int r = 0; r < 8; r++)
        v[r] = in[first + thread + r * 64];

#pragma unroll
    for (int done = 1; done < 512; done *= 8) {
        int within = thread % done;
        for (int r = 1; r < 8; r++)
            v[r] = v[r] * unit((float)(within * r) / (done * 8));
        transform8(v);
        int to = (thread - within) * 8 + within;
        if (done < 64) {
            __syncthreads();
            for (int r = 0; r < 8; r++)
                exchange[to + r * done] = v[reversed[r]];
            __syncthreads();
            for (int r = 0; r < 8; r++)
                v[r] = exchange[thread + r * 64];
        } else {
            for (int r = 0; r < 8; r++)
                out[first + to + r * done] = v[reversed[r]];
        }
    }
}
