// Streaming kernels in double precision, a thread for each element, and loads that L2 serves: written
// from the descriptions of gpu-benches' gpu-stream and gpu-l2-cache.
#define HERE (threadIdx.x + (size_t)blockIdx.x * blockDim.x)

extern "C" __global__ void init(double *a, const double *b, const double *c) { a[HERE] = 0.23; }

extern "C" __global__ void read(double *a, const double *__restrict__ b, const double *c) {
    const double value = b[HERE];
    if (value == 123.0) a[HERE] = value;
}

extern "C" __global__ void scale(double *a, const double *__restrict__ b, const double *c) {
    a[HERE] = b[HERE] * 1.2;
}

extern "C" __global__ void triad(double *a, const double *__restrict__ b, const double *__restrict__ c) {
    a[HERE] = b[HERE] * 1.2 + c[HERE];
}

// Blocks of 1024 threads go over `turns` pieces of a buffer each, TURNS loads of a thread apart.
extern "C" __global__ void again(double *a, const double *__restrict__ b, int turns) {
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < TURNS / 2; i++) {
        const int at = (blockDim.x * turns * i + (blockIdx.x % turns) * blockDim.x) * 2 + threadIdx.x;
        sum += b[at] * b[at + blockDim.x];
    }
    if (sum == 23.12) a[threadIdx.x] = sum;
}
