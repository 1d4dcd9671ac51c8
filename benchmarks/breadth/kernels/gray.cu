// Grey values of an image whose pixels are three bytes, a thread per pixel.
__global__ void gray(const unsigned char *pixels, unsigned char *grey, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int at = y * width + x;
    const unsigned char *pixel = pixels + 3 * at;
    grey[at] = (unsigned char)(0.21f * pixel[0] + 0.71f * pixel[1] + 0.07f * pixel[2]);
}
