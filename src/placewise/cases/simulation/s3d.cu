// Molar concentrations of a burning gas from its pressure, temperature and mass fractions, first
// step of its reaction rates: one thread per grid point, species after species in memory.

__global__ void concentrations(const float *p, const float *t, const float *y,
                               const float *inverse_weights, float *c, int points,
                               float p_unit, float t_unit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;

    const float gas_constant = 8.314510e7f;  // erg / (mol K)
    float pressure = p[i] * p_unit;
    float temperature = t[i] * t_unit;

    float moles = 0.0f;
    for (int k = 0; k < SPECIES; k++)
        moles += y[k * points + i] * inverse_weights[k];

    float scale = pressure / (gas_constant * temperature * moles);
    for (int k = 0; k < SPECIES; k++)
        c[k * points + i] = fmaxf(y[k * points + i] * inverse_weights[k] * scale, 1e-30f);
}
