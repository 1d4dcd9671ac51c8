// First layer of a neural network, forward: one thread per neuron and image. The weights of an
// input are next to each other, one per neuron.

__global__ void feed_forward(const float *images, const float *weights, const float *biases,
                             float *activations, int count, int inputs, int neurons) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * neurons) return;
    int image = i / neurons;
    int neuron = i % neurons;

    float sum = biases[neuron];
    for (int k = 0; k < inputs; k++)
        sum += weights[k * neurons + neuron] * images[image * inputs + k];
    activations[i] = 1.0f / (1.0f + expf(-sum));
}
