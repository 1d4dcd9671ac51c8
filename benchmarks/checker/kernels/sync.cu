// Planted: barriers and warp functions that not all the right threads execute, and no end.

__global__ void barrier_of_one_warp(float *a) {
    int t = threadIdx.x;
    if (t < 32) {
        a[t] = 1.0f;
        __syncthreads();  // expect: barrier-not-reached
    }
}

__global__ void barrier_in_divergent_branch(float *a) {
    int t = threadIdx.x;
    if (t % 2) {
        a[t] = 1.0f;
        __syncthreads();  // expect: barrier-not-reached
    } else {
        a[t] = 2.0f;
    }
    a[t] += 1.0f;
}

__global__ void barrier_after_early_return(const float *in, float *out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = 0.0f;
    if (i >= n) return;
    s[t] = in[i];
    __syncthreads();  // expect: barrier-not-reached
    out[i] = s[t];
}

__global__ void barrier_in_uneven_loop(const float *in, float *out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) {
        s[t] = in[i];
        __syncthreads();  // expect: barrier-not-reached
        sum += s[t];
    }
    out[t] = sum;
}

__global__ void warps_at_different_barriers(float *a) {
    int t = threadIdx.x;
    if (t < 32) {
        a[t] = 1.0f;
        __syncthreads();
        a[t] = 2.0f;
    } else {
        a[t] = 3.0f;
        __syncthreads();  // expect: barrier-mismatch
    }
}

__global__ void barrier_of_too_few(float *a) {
    int t = threadIdx.x;
    a[t] = 1.0f;
    if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // expect: barrier-not-reached
    a[t] = 2.0f;
}

__global__ void shuffle_in_branch(float *a) {
    int t = threadIdx.x;
    float v = a[t];
    if (t < 20) v += __shfl_down_sync(0xffffffffu, v, 1);  // expect: lane-mask
    a[t] = v;
}

__global__ void vote_in_branch(const int *in, int *out) {
    int t = threadIdx.x;
    int found = 0;
    if (in[t] > 3) found = __ballot_sync(0xffffffffu, in[t] > 5);  // expect: lane-mask
    out[t] = found;
}

__global__ void shuffle_beyond_the_mask(float *a, int n) {
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffffu, t < n);
    if (t < n) {
        float v = a[t];
        for (int step = 16; step > 0; step /= 2)
            v += __shfl_down_sync(mask, v, step);  // expect: shuffle-of-inactive-lane
        if (t == 0) a[0] = v;
    }
}

__global__ void shuffle_after_lanes_ended(float *a, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float v = a[t];
    v += __shfl_xor_sync(0xffffffffu, v, 16);  // expect: shuffle-of-inactive-lane
    a[t] = v;
}

__global__ void mask_without_self(float *a) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncwarp(0xffffu);  // expect: lane-mask
    a[t] = s[t];
}

__global__ void never_ends(int *flag, int *out) {
    int n = 0;
    while (*(volatile int *)flag == 0) n++;  // expect: does-not-end
    out[threadIdx.x] = n;
}

__global__ void loop_never_reaches_its_end(int *out, unsigned step) {
    unsigned n = 0;
    for (unsigned i = threadIdx.x; i != 1001; i += step) n += i * n + 1;  // expect: does-not-end
    out[threadIdx.x] = n;
}

__global__ void trapped(const int *in, int *out) {
    int t = threadIdx.x;
    if (in[t] < 0) __trap();  // expect: trap
    out[t] = in[t];
}
