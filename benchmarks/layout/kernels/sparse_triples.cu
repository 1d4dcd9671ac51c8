// Product of each entry of a sparse matrix in coordinate form with its element of a vector.
struct Entry {
    int row, column;
    double value;
    double error;
    long long source;
};

__global__ void sparse_triples(const Entry *entries, const float *x, float *product, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    product[i] = (float)entries[i].value * x[entries[i].column];
}
