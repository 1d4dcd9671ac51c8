// Search for the key with a given MD5 digest (RFC 1321) among all keys of `length` bytes, each byte
// from 0 to `radix` - 1, the first one counting fastest. A thread tries the keys that differ in the
// first byte.

__device__ unsigned rotated(unsigned x, int bits) {
    return x << bits | x >> (32 - bits);
}

// Digest of a message of one block: up to 55 bytes, padded and with its length.
__device__ void md5(const unsigned (&block)[16], unsigned (&digest)[4]) {
    const unsigned sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
    for (int i = 0; i < 64; i++) {
        unsigned mixed;
        int word;
        switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d); word = i; break;
        case 1: mixed = (d & b) | (~d & c); word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d; word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d); word = (7 * i) % 16;
        }
        unsigned next = b + rotated(a + mixed + sines[i] + block[word], shifts[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    digest[0] = a + 0x67452301;
    digest[1] = b + 0xefcdab89;
    digest[2] = c + 0x98badcfe;
    digest[3] = d + 0x10325476;
}

__global__ void find(unsigned digest0, unsigned digest1, unsigned digest2, unsigned digest3,
                     int length, int radix, int count, int *found_index,
                     unsigned char *found_key, unsigned *found_digest) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * radix;
    for (int index = first; index < first + radix && index < count; index++) {
        unsigned block[16] = {};
        int rest = index;
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j < length) {
                block[j / 4] |= (unsigned)(rest % radix) << (j % 4 * 8);
                rest /= radix;
            } else if (j == length) {
                block[j / 4] |= 0x80u << (j % 4 * 8);
            }
        block[14] = length * 8;

        unsigned digest[4];
        md5(block, digest);
        if (digest[0] == digest0 && digest[1] == digest1 && digest[2] == digest2 &&
            digest[3] == digest3) {
            *found_index = index;
            for (int j = 0; j < length; j++)
                found_key[j] = block[j / 4] >> (j % 4 * 8) & 255;
            for (int j = 0; j < 4; j++)
                found_digest[j] = digest[j];
        }
    }
}
