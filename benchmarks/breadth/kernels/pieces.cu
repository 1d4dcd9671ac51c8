// A matrix of N x N pieces of BYTES bytes. FORM 0: copied. 1: transposed with scattered stores,
// where neighbouring lanes store a row apart. 2: transposed with strided loads, where they load a
// row apart. 3: scattered stores only. 4: strided loads only.
#if BYTES == 1
typedef unsigned char Piece;
#elif BYTES == 2
typedef unsigned short Piece;
#elif BYTES == 4
typedef unsigned int Piece;
#elif BYTES == 8
typedef uint2 Piece;
#else
typedef uint4 Piece;
#endif

__device__ bool is_odd(Piece piece) {
    return ((const unsigned char *)&piece)[0] & 1;
}

__global__ void pieces(const void *from, void *to) {
    const Piece *in = (const Piece *)from;
    Piece *out = (Piece *)to;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
#if FORM == 0
    out[y * N + x] = in[y * N + x];
#elif FORM == 1
    out[x * N + y] = in[y * N + x];
#elif FORM == 2
    out[y * N + x] = in[x * N + y];
#elif FORM == 3
    Piece zero = {};
    out[x * N + y] = zero;
#else
    // The input is zero, so nothing is stored.
    if (is_odd(in[x * N + y])) out[0] = in[0];
#endif
}
