// One pass of a radix sort, last part: keys and values, in order of their digit within each block,
// go to their digit's place in the whole. A digit is four bits from bit `shift` on.

__global__ void reorder(const unsigned *keys, const unsigned *values, const unsigned *starts,
                        const unsigned *offsets, unsigned *keys_out, unsigned *values_out,
                        int per_block, int shift) {
    __shared__ unsigned block_starts[16];   // where a digit begins among the block's keys
    __shared__ unsigned block_offsets[16];  // where the block's keys of a digit go
    if (threadIdx.x < 16) {
        block_starts[threadIdx.x] = starts[blockIdx.x * 16 + threadIdx.x];
        block_offsets[threadIdx.x] = offsets[threadIdx.x * gridDim.x + blockIdx.x];
    }
    __syncthreads();

    for (int i = threadIdx.x; i < per_block; i += blockDim.x) {
        unsigned key = keys[blockIdx.x * per_block + i];
        unsigned digit = key >> shift & 15;
        unsigned to = block_offsets[digit] + i - block_starts[digit];
        keys_out[to] = key;
        values_out[to] = values[blockIdx.x * per_block + i];
    }
}
