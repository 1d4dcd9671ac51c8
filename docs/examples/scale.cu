// Looks up a table at random places: which memory should the table be in?
__global__ void scale(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * table[index[i]];
}
