// Multiplies two spectra, and scales, as a convolution by transforms does.
struct Complex {
    float re, im;
};

__device__ Complex times(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__global__ void complex_numbers(Complex *a, const Complex *b, int n, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Complex product = times(a[i], b[i]);
    product.re *= scale;
    product.im *= scale;
    a[i] = product;
}
