extern "C" __global__ void gather(const int *index,   // where to
                                  const double *table,
                                  const double *x, double *y, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n)
    y[i] = table[index[i]] + *(table + index[n - 1 - i]) * x[i];
}
