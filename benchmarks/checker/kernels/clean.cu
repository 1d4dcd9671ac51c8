// Clean: what correct kernels do. The checker must say nothing of them.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void guarded(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 2.0f * i;
}

__global__ void stencil_with_borders(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (i > 0 ? in[i - 1] : 0.0f) + in[i] + (i < n - 1 ? in[i + 1] : 0.0f);
}

__global__ void aligned_vectors(const float4 *in, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = in[i];
        out[i] = make_float4(v.w, v.z, v.y, v.x);
    }
}

__global__ void stack_array(const int *in, int *out, int n) {
    int digits[8] = {};
    int value = in[threadIdx.x];
    for (int k = 0; k < n; k++) {
        digits[k] = value % 10;
        value /= 10;
    }
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += digits[(k * 3) % 8] * k;
    out[threadIdx.x] = sum;
}

__global__ void reverse(float *a) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    a[t] = s[255 - t];
}

__global__ void tiled_product(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += as[y][j] * bs[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void double_buffer(const float *a, float *out, int tiles) {
    __shared__ float buffer[2][128];
    int t = threadIdx.x;
    float sum = 0.0f;
    buffer[0][t] = a[t];
    for (int k = 0; k < tiles; k++) {
        __syncthreads();
        if (k + 1 < tiles) buffer[(k + 1) & 1][t] = a[(k + 1) * 128 + t];
        sum += buffer[k & 1][127 - t];
    }
    out[t] = sum;
}

__global__ void tree_reduction(const float *a, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = a[blockIdx.x * 256 + t];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void warp_synchronous_reduction(const float *a, float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    if (t < 32) {
        float sum = s[t] + s[t + 32];
        for (int step = 16; step > 0; step /= 2) {
            __syncwarp();
            s[t] = sum;
            __syncwarp();
            sum += s[t ^ step];
        }
        if (t == 0) *out = sum;
    }
}

__global__ void shuffle_reduction(const float *a, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? a[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void scan(const int *in, int *out) {
    __shared__ int s[2][128];
    int t = threadIdx.x, now = 0;
    s[0][t] = in[t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        s[1 - now][t] = s[now][t] + (t >= step ? s[now][t - step] : 0);
        now = 1 - now;
        __syncthreads();
    }
    out[t] = s[now][t];
}

__global__ void blelloch_scan(int *data) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[2 * t] = data[2 * t];
    s[2 * t + 1] = data[2 * t + 1];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            int kept = s[i];
            s[i] = s[j];
            s[j] += kept;
        }
    }
    __syncthreads();
    data[2 * t] = s[2 * t];
    data[2 * t + 1] = s[2 * t + 1];
}

__global__ void warp_scan(const int *in, int *out) {
    int t = threadIdx.x, lane = t % 32;
    int sum = in[t];
    for (int step = 1; step < 32; step *= 2) {
        int left = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += left;
    }
    out[t] = sum;
}

__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void histogram(const int *values, int *bins, int n) {
    __shared__ int local[16];
    int t = threadIdx.x;
    if (t < 16) local[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[values[i]], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], local[t]);
}

__device__ unsigned finished;

__global__ void last_block(const float *a, float *partial, float *out) {
    __shared__ float s[128];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = a[blockIdx.x * 128 + t];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float sum = 0.0f;
        for (int k = t; k < gridDim.x; k += 128) sum += partial[k];
        s[t] = sum;
        __syncthreads();
        if (t == 0) {
            float all = 0.0f;
            for (int k = 0; k < 128; k++) all += s[k];
            *out = all;
            finished = 0;
        }
    }
}

__global__ void last_thread(const float *a, float *data, unsigned *count, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    data[i] = 2.0f * a[i];
    __threadfence();
    if (atomicAdd(count, 1) == n - 1) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) sum += data[k];
        *out = sum;
    }
}

__global__ void flag_with_fences(const float *a, float *data, volatile int *flag, float *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = a[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        __shared__ int seen;
        if (threadIdx.x == 0) seen = *flag;
        __syncthreads();
        if (seen) {
            __threadfence();
            out[threadIdx.x] = data[threadIdx.x];
        }
    }
}

__global__ void lock(int *taken, int *total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = i >= n;
    while (!done) {
        if (atomicCAS(taken, 0, 1) == 0) {
            __threadfence();
            *total += i;
            __threadfence();
            atomicExch(taken, 0);
            done = true;
        }
    }
}

__global__ void asynchronous_pipeline(const float *a, float *out, int tiles) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    unsigned at[2] = {(unsigned)__cvta_generic_to_shared(&s[0][t]),
                      (unsigned)__cvta_generic_to_shared(&s[1][t])};
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at[0]), "l"(a + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at[(k + 1) & 1]),
                         "l"(a + 64 * (k + 1) + t)
                         : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += s[k & 1][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

__global__ void named_barriers(const float *a, float *out, int rounds) {
    __shared__ float box[32];
    int t = threadIdx.x % 32;
    float sum = 0.0f;
    for (int k = 0; k < rounds; k++) {
        if (threadIdx.x < 32) {
            box[t] = a[32 * k + t];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += box[31 - t];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
    if (threadIdx.x >= 32) out[t] = sum;
}

__global__ void cooperative_tiles(const float *a, float *out) {
    __shared__ float s[128];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int t = block.thread_rank();
    s[t] = a[blockIdx.x * 128 + t];
    tile.sync();
    float sum = s[t ^ 8];
    for (int step = 8; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    block.sync();
    if (tile.thread_rank() == 0) s[t] = sum;
    block.sync();
    if (t == 0) {
        float all = 0.0f;
        for (int k = 0; k < 128; k += 16) all += s[k];
        out[blockIdx.x] = all;
    }
}

__global__ void compact(const int *in, int *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}

__global__ void aggregated_atomics(const int *in, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 4) {
        cg::coalesced_group active = cg::coalesced_threads();
        int first = 0;
        if (active.thread_rank() == 0) first = atomicAdd(count, (int)active.size());
        first = active.shfl(first, 0);
    }
}

__global__ void masked_shuffle(float *a, int n) {
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffffu, t < n);
    if (t < n) {
        float v = a[t];
        float right = __shfl_sync(mask, v, t + 1 < n ? t + 1 : t);
        a[t] = v + right;
    }
}

__global__ void bytes_of_neighbours(const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    out[blockIdx.x * 64 + t] = s[t] + 1;
}

__global__ void half_words(const short *in, short *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2;
}

__global__ void own_element_in_place(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] += 1.0f;
        a[i] *= 2.0f;
    }
}

__global__ void same_value_by_all(const int *in, int *found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 3) *found = 1;
}

__global__ void whole_block_returns(const float *in, float *out, int blocks) {
    __shared__ float s[64];
    if (blockIdx.x >= blocks) return;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[63 - t];
}

__global__ void barrier_in_uniform_loop(const float *in, float *out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 64) {
        s[t] = first + t < n ? in[first + t] : 0.0f;
        __syncthreads();
        sum += s[63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

__global__ void barrier_with_vote(const int *in, int *out) {
    int t = threadIdx.x, rounds = 0, left = in[t];
    while (__syncthreads_or(left > 0)) {
        left--;
        rounds++;
    }
    out[t] = rounds;
}

__global__ void dynamic_shared_in_two_parts(const float *in, float *out, int n) {
    extern __shared__ float memory[];
    float *values = memory;
    int *order = reinterpret_cast<int *>(memory + n);
    int t = threadIdx.x;
    values[t] = in[t];
    order[n - 1 - t] = t;
    __syncthreads();
    out[t] = values[order[t]];
}

__global__ void bitonic_sort(int *data) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {
                int kept = s[t];
                s[t] = s[other];
                s[other] = kept;
            }
            __syncthreads();
        }
    data[t] = s[t];
}

__global__ void breadth_first_level(const int *starts, const int *edges, int *level, int now,
                                    int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && atomicAdd(&level[v], 0) == now)
        for (int e = starts[v]; e < starts[v + 1]; e++) atomicCAS(&level[edges[e]], -1, now + 1);
}

__global__ void table_of_rows(float **rows, float *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = rows[blockIdx.x][threadIdx.x];
}

__global__ void writes_fresh_then_reads(const float *in, float *fresh, float *out) {
    int t = threadIdx.x;
    fresh[t] = in[t];
    __syncthreads();
    out[t] = fresh[blockDim.x - 1 - t];
}

__constant__ float weights[8];

__global__ void constant_weights(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 8 && i + k < n; k++) sum += weights[k] * in[i + k];
    if (i < n) out[i] = sum;
}

__global__ void warps_take_turns(int *log) {
    __shared__ volatile int turn;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    if (lane == 0) {
        while (turn != warp) {
        }
        __threadfence_block();
        log[0] += warp;
        __threadfence_block();
        turn = warp + 1;
    }
}

__global__ void grid_barrier(const float *in, float *middle, float *out, unsigned *arrived) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    middle[i] = 2.0f * in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    out[i] = middle[n - 1 - i];
}

__global__ void divergent_but_fine(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = in[i], steps = 0;
    while (value > 1 && steps < 50) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        steps++;
    }
    out[i] = steps;
}

struct Particle {
    float position[3];
    short kind;
    char charge;
};

__global__ void structs(const Particle *in, Particle *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i].position[0] = in[i].position[1];
        out[i].position[1] = in[i].position[2];
        out[i].position[2] = in[i].position[0];
        out[i].kind = in[i].kind + 1;
        out[i].charge = -in[i].charge;
    }
}

__global__ void last_ticket_resets(const int *in, unsigned *tickets, int *rounds, int *total) {
    if (threadIdx.x == 0) {
        atomicAdd(total, in[blockIdx.x]);
        if (atomicAdd(tickets, 1) == gridDim.x - 1) {
            *tickets = 0;
            *rounds += 1;
        }
    }
}

__global__ void cooperative_grid(const float *in, float *middle, float *out) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    middle[i] = 2.0f * in[i];
    grid.sync();
    out[i] = middle[n - 1 - i];
}
