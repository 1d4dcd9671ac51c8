// Attention scores as one would write them first: each thread takes its number apart and computes one
// product of a query and a key. Queries, keys and values of a token lie side by side.
__global__ void scores(const float *x, float *y, int batches, int tokens, int heads, int width) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < batches * heads * tokens * tokens) {
        int key = at % tokens, query = (at / tokens) % tokens;
        if (key > query) {
            y[at] = -INFINITY;
            return;
        }
        int head = (at / (tokens * tokens)) % heads, batch = at / (heads * tokens * tokens);
        int depth = width / heads, pitch = width * 3;
        const float *q = x + batch * tokens * pitch + query * pitch + head * depth;
        const float *k = x + batch * tokens * pitch + key * pitch + head * depth + width;
        float sum = 0.0f;
        for (int i = 0; i < depth; i++) sum += q[i] * k[i];
        y[at] = sum / sqrtf(depth);
    }
}
