// Data decides: graphs, points, text, random numbers.

struct Particle {
    float x, y, z;
    int kind;
};

__global__ void gather_scatter(Particle* out, const Particle* in, const int* from, const int* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[from[i]];
    p.kind = -p.kind;
    out[to[i]] = p;
}

__global__ void bfs_level(int* levels, int* changed, const int* starts, const int* edges, int level, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || levels[v] != level) return;
    for (int e = starts[v]; e < starts[v + 1]; ++e) {
        int u = edges[e];
        if (levels[u] < 0) {
            levels[u] = level + 1;
            *changed = 1;
        }
    }
}

#define DIMENSIONS 3

__global__ void assign_clusters(int* labels, float* sums, int* counts, const float* points,
                                const float* centres, int n, int k) {
    extern __shared__ float c[];
    for (int j = threadIdx.x; j < k * DIMENSIONS; j += blockDim.x) c[j] = centres[j];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = 3.4e38f;
    int label = -1;
    for (int j = 0; j < k; ++j) {
        float distance = 0;
        for (int d = 0; d < DIMENSIONS; ++d) {
            float x = points[d * n + i] - c[j * DIMENSIONS + d];
            distance += x * x;
        }
        if (distance < best) {
            best = distance;
            label = j;
        }
    }
    labels[i] = label;
    atomicAdd(&counts[label], 1);
    for (int d = 0; d < DIMENSIONS; ++d) atomicAdd(&sums[label * DIMENSIONS + d], points[d * n + i]);
}

__device__ double normal_cdf(double d) {
    const double a1 = 0.31938153, a2 = -0.356563782, a3 = 1.781477937, a4 = -1.821255978, a5 = 1.330274429;
    double k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    double c = 0.39894228040143267794 * exp(-0.5 * d * d)
             * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0 - c : c;
}

__global__ void black_scholes(float* call, float* put, const float* price, const float* strike,
                              const float* years, float rate, float volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double s = price[i], x = strike[i], t = years[i], root = sqrt(t);
        double d1 = (log(s / x) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root);
        double d2 = d1 - volatility * root, discount = exp(-rate * t);
        call[i] = (float)(s * normal_cdf(d1) - x * discount * normal_cdf(d2));
        put[i] = (float)(x * discount * (1 - normal_cdf(d2)) - s * (1 - normal_cdf(d1)));
    }
}

__global__ void mandelbrot(unsigned short* steps, int width, int height, double x0, double y0, double scale) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    double cx = x0 + px * scale, cy = y0 + py * scale, x = 0, y = 0;
    int n = 0;
    while (n < 200 && x * x + y * y <= 4.0) {
        double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        ++n;
    }
    steps[py * width + px] = n;
}

__global__ void pnpoly(bool* inside, const float2* points, const float2* vertices, int n, int corners) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool in = false;
    float2 p = points[i];
    for (int j = 0, k = corners - 1; j < corners; k = j++) {
        float2 a = vertices[j], b = vertices[k];
        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) in = !in;
    }
    inside[i] = in;
}

__constant__ char pattern[16];

__global__ void find(int* matches, int* count, const char* text, int n, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + length > n) return;
    for (int j = 0; j < length; ++j)
        if (pattern[j] != '?' && text[i + j] != pattern[j]) return;
    matches[atomicAdd(count, 1)] = i;
}

__global__ void monte_carlo(unsigned long long* hits, unsigned seed, int rounds) {
    unsigned state = seed ^ (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    unsigned inside = 0;
    for (int r = 0; r < rounds; ++r) {
        unsigned xy[2];
        for (int k = 0; k < 2; ++k) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            xy[k] = state >> 16;
        }
        inside += (unsigned long long)xy[0] * xy[0] + (unsigned long long)xy[1] * xy[1] < 1ull << 32;
    }
    unsigned active = __activemask();
    for (int d = 16; d; d /= 2) inside += __shfl_down_sync(active, inside, d);
    if (threadIdx.x % 32 == 0) atomicAdd(hits, (unsigned long long)inside);
}

__global__ void compact(int* out, int* count, const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned kept = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (lane == 0 && kept) base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}
