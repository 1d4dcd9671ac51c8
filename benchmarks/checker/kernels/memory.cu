// Planted: accesses outside of arrays, misaligned, to what cannot be written.
// "expect: KIND" marks the line that the checker must name.

__global__ void off_by_one_in_last_block(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) a[i] = 2.0f * i;  // expect: out-of-bounds
}

__global__ void negative_index(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float left = in[i - 1];  // expect: out-of-bounds
        out[i] = left + in[i];
    }
}

__global__ void index_overflows_int(float *a, int rows, int pitch, int size) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int at = row * pitch;
    if (at < size) a[at] = 1.0f;  // expect: out-of-bounds
}

__global__ void stack_array_overrun(const int *in, int *out, int n) {
    int digits[8];
    int value = in[threadIdx.x], used = 0;
    for (int k = 0; k < n; k++) {
        digits[used] = value % 10;  // expect: out-of-bounds
        value /= 10;
        used++;
    }
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += digits[(k * 3) % 8];
    out[threadIdx.x] = sum;
}

__global__ void shared_tile_overrun(const float *in, float *out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + 1];  // expect: out-of-bounds
}

__global__ void dynamic_shared_too_small(const float *in, float *out) {
    extern __shared__ float buffer[];
    int t = threadIdx.x;
    buffer[t] = in[t];  // expect: out-of-bounds
    __syncthreads();
    if (t < 32) out[t] = buffer[t];
}

__global__ void misaligned_vector_load(const float *in, float *out) {
    int t = threadIdx.x;
    float4 v = *reinterpret_cast<const float4 *>(in + 4 * t + 1);  // expect: misaligned
    out[t] = v.x + v.y + v.z + v.w;
}

__global__ void misaligned_record(unsigned char *records, int size) {
    double *value = reinterpret_cast<double *>(records + threadIdx.x * size + 4);
    *value = 1.5;  // expect: misaligned
}

__global__ void vector_load_past_the_end(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        float4 v = reinterpret_cast<const float4 *>(in)[i];  // expect: out-of-bounds
        out[i] = v.x + v.y + v.z + v.w;
    }
}

__constant__ float weights[32];

__global__ void write_to_constant(float *w, float *out) {
    out[threadIdx.x] = weights[threadIdx.x];
    w[threadIdx.x] = 1.0f;  // expect: write-to-read-only
}

__global__ void null_pointer(const float *in, const float *bias, float *out) {
    int t = threadIdx.x;
    out[t] = in[t] + bias[t];  // expect: null-pointer
}

__global__ void dangling_pointer(float **rows, float *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = rows[blockIdx.x][threadIdx.x];  // expect: out-of-bounds
}

__global__ void histogram_bin_too_far(const int *values, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[values[i]], 1);  // expect: out-of-bounds
}

__global__ void rows_and_columns_swapped(const float *in, float *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[x * columns + y] = in[y * columns + x];  // expect: out-of-bounds
}

__global__ void gather_of_missing(const int *index, const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];  // expect: out-of-bounds
}

__global__ void wrong_array_bound(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float next = x[i + 1];  // expect: out-of-bounds
        y[i] = next - x[i];
    }
}
