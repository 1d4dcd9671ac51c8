// Convolution of an image with a square mask; the result passes through double precision (see blur.cu). FORM 0: mask in
// global memory; 1: in constant memory; 2: also the image through shared memory, whose threads at the edge only load.
#define KEPT(x) (min(max((x), 0.0), 1.0))

__constant__ float constant_mask[256];

__global__ void blur2d(const float *image, const float *mask, float *out, int mask_height, int mask_width, int height,
                       int width, int channels)
{
#if FORM <= 1
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height || x >= width) return;
#if FORM == 0
    const float *factors = mask;
#else
    const float *factors = constant_mask;
#endif
    int top = y - mask_height / 2, left = x - mask_width / 2;
    for (int c = 0; c < channels; ++c) {
        float sum = 0;
        for (int k = 0; k < mask_height; ++k)
            for (int l = 0; l < mask_width; ++l)
                if (top + k >= 0 && top + k < height && left + l >= 0 && left + l < width)
                    sum += image[((top + k) * width + left + l) * channels + c] * factors[k * mask_width + l];
        out[(y * width + x) * channels + c] = KEPT(sum);
    }
#else
    extern __shared__ float part[];
    int tile_height = blockDim.y - mask_height + 1, tile_width = blockDim.x - mask_width + 1;
    int ty = threadIdx.y, tx = threadIdx.x;
    int y = blockIdx.y * tile_height + ty, x = blockIdx.x * tile_width + tx;
    int from_y = y - mask_height / 2, from_x = x - mask_width / 2;
    for (int c = 0; c < channels; ++c) {
        bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        part[ty * blockDim.x + tx] = inside ? image[(from_y * width + from_x) * channels + c] : 0;
        __syncthreads();
        float sum = 0;
        if (ty < tile_height && tx < tile_width && y < height && x < width) {
            for (int k = 0; k < mask_height; ++k)
                for (int l = 0; l < mask_width; ++l)
                    sum += part[(ty + k) * blockDim.x + tx + l] * constant_mask[k * mask_width + l];
            out[(y * width + x) * channels + c] = KEPT(sum);
        }
        __syncthreads();
    }
#endif
}
