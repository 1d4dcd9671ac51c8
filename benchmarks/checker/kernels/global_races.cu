// Planted: accesses of global memory by threads of several warps or blocks that nothing orders.

__global__ void histogram_without_atomics(const int *values, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bins[values[i]] += 1;  // expect: global-race
}

__device__ unsigned finished;

__global__ void last_block_without_fence(const float *a, float *partial, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = a[blockIdx.x];
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k];  // expect: global-race
        *out = sum;
    }
}

__global__ void last_block_with_block_fence(const float *a, float *partial, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = a[blockIdx.x];
        __threadfence_block();
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k];  // expect: global-race
        *out = sum;
    }
}

__global__ void last_block_before_barrier(const float *a, float *partial, float *out) {
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = a[i];
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float sum = 0.0f;
        for (int k = threadIdx.x; k < gridDim.x * blockDim.x; k += blockDim.x)
            sum += partial[k];  // expect: global-race
        atomicAdd(out, sum);
    }
}

__global__ void plain_flag(const float *a, float *data, int *flag, float *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = a[threadIdx.x];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else if (*flag) {  // expect: global-race
        out[threadIdx.x] = data[threadIdx.x];  // expect: global-race
    }
}

__global__ void stencil_in_place(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = 0.0f;
    if (i > 0 && i < n) left = a[i - 1];  // expect: global-race
    __syncthreads();
    if (i < n) a[i] += left;
}

__global__ void sum_without_atomics(const float *a, float *sum) {
    if (threadIdx.x == 0) *sum += a[blockIdx.x];  // expect: global-race
}

__global__ void scratch_without_barrier(const float *a, float *scratch, float *out) {
    int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    scratch[first + t] = a[first + t];
    out[first + t] = scratch[first + blockDim.x - 1 - t];  // expect: global-race
}

__global__ void atomic_beside_plain_read(int *counter, int *out) {
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        out[blockIdx.x] = *counter;  // expect: global-race
    }
}

__global__ void scatter_with_duplicates(const int *to, const float *a, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[to[i]] = a[i];  // expect: global-race
}

__global__ void blocks_overlap_by_one(const float *a, float *out) {
    int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    out[i] = a[i] + blockIdx.x;  // expect: global-race
}
