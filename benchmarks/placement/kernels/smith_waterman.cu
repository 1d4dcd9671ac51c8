// One anti-diagonal of Smith-Waterman's score matrix H, (la + 1) x (lb + 1): one thread per cell.
__global__ void diagonal(const char *a, const char *b, int *H, int la, int lb, int d,
                         int match, int mismatch, int gap) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int first = d > lb ? d - lb : 1;
    int last = d - 1 < la ? d - 1 : la;
    int i = first + t;
    if (i > last)
        return;
    int j = d - i;
    int w = lb + 1;
    int score = H[(i - 1) * w + j - 1] + (a[i - 1] == b[j - 1] ? match : mismatch);
    score = max(score, H[(i - 1) * w + j] - gap);
    score = max(score, H[i * w + j - 1] - gap);
    H[i * w + j] = max(score, 0);
}
