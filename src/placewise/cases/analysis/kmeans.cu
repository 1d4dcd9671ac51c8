// Assignment step of k-means: the nearest centre of each point. Features are stored one after the
// other, each of all points; centres one after the other.

__global__ void assign(const float *features, const float *centres, int *nearest, int points,
                       int clusters, int dimensions) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;

    int index = -1;
    float least = 3.4e38f;
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
        for (int d = 0; d < dimensions; d++) {
            float difference =
                features[d * points + point] - centres[cluster * dimensions + d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            index = cluster;
        }
    }
    nearest[point] = index;
}
