// Planted: accesses of shared memory that nothing orders.

__global__ void reverse_without_barrier(float *a) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncthreads();
    s[t] = a[t];
    a[t] = s[255 - t];  // expect: shared-race
}

__global__ void tiles_overwritten_too_early(const float *a, float *out, int tiles) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < tiles; k++) {
        tile[t] = a[k * 128 + t];
        __syncthreads();
        for (int j = 0; j < 128; j++) sum += tile[j] * j;  // expect: shared-race
    }
    out[t] = sum;
}

__global__ void double_buffer_misses_barrier(const float *a, float *out, int tiles) {
    __shared__ float buffer[2][128];
    int t = threadIdx.x;
    float sum = 0.0f;
    buffer[0][t] = a[t];
    buffer[1][t] = 0.0f;
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) buffer[(k + 1) & 1][t] = a[(k + 1) * 128 + t];
        sum += buffer[k & 1][127 - t];  // expect: shared-race
    }
    out[t] = sum;
}

__global__ void last_warp_without_syncwarp(const float *a, float *out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        for (int step = 16; step > 0; step /= 2)
            if (t < step) s[t] += s[t + step];  // expect: shared-race
    }
    if (t == 0) *out = s[0];
}

__global__ void volatile_is_no_syncwarp(const float *a, float *out) {
    __shared__ float memory[64];
    volatile float *s = memory;
    int t = threadIdx.x;
    s[t] = a[t];
    s[t + 32] = a[t + 32];
    __syncthreads();
    s[t] = s[t] + s[t + 32];
    s[t] = s[t] + s[t ^ 16];  // expect: shared-race
    out[t] = s[t];
}

__global__ void reduction_misses_barrier(const float *a, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2)
        if (t < step) s[t] += s[t + step];  // expect: shared-race
    if (t == 0) *out = s[0];
}

__global__ void halo_across_warps(const float *a, float *out) {
    __shared__ float s[129];
    int t = threadIdx.x;
    s[t] = 0.0f;
    if (t == 0) s[128] = 0.0f;
    __syncthreads();
    s[t] = a[t];
    __syncwarp();
    out[t] = 0.5f * (s[t] + s[t + 1]);  // expect: shared-race
}

__global__ void scan_in_place(float *a) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        if (t >= step) s[t] += s[t - step];  // expect: shared-race
        __syncthreads();
    }
    a[t] = s[t];
}

__global__ void shared_histogram_without_atomics(const int *values, int *bins) {
    __shared__ int local[16];
    int t = threadIdx.x;
    if (t < 16) local[t] = 0;
    __syncthreads();
    local[values[blockIdx.x * blockDim.x + t]] += 1;  // expect: shared-race
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], local[t]);
}

__global__ void broadcast_without_barrier(const float *a, float *out) {
    __shared__ float scale;
    int t = threadIdx.x;
    if (t == 0) scale = 0.0f;
    __syncthreads();
    if (t == 64) scale = a[0];
    out[t] = a[t] * scale;  // expect: shared-race
}

__global__ void lanes_write_different_values(const float *a, float *out) {
    __shared__ float s[16];
    int t = threadIdx.x;
    s[t / 2] = a[t];  // expect: shared-race
    __syncthreads();
    if (t < 16) out[t] = s[t];
}

__global__ void barrier_of_two_warps_only(const float *a, float *out) {
    __shared__ float s[96];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncthreads();
    s[t] = a[t];
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = s[95 - t];  // expect: shared-race
}

__global__ void tile_sync_is_too_small(const float *a, float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncwarp();
    s[t] = a[t];
    __syncwarp(0xffu << (t & 24));
    out[t] = s[31 - t];  // expect: shared-race
}

__global__ void copy_not_awaited(const float *a, float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(a + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    out[t] = s[t];  // expect: async-copy-not-awaited
}

__global__ void copy_awaited_by_its_thread_only(const float *a, float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(a + t) : "memory");
    __syncthreads();
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = s[63 - t];  // expect: async-copy-not-awaited
}

__global__ void pipeline_waits_for_too_few(const float *a, float *out, int tiles) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    unsigned at[2] = {(unsigned)__cvta_generic_to_shared(&s[0][t]),
                      (unsigned)__cvta_generic_to_shared(&s[1][t])};
    for (int k = 0; k < 2; k++) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at[k]), "l"(a + 64 * k + t)
                     : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    float sum = 0.0f;
    for (int k = 0; k < tiles; k++) {
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        sum += s[k & 1][63 - t];  // expect: async-copy-not-awaited
        __syncthreads();
    }
    out[t] = sum;
}
