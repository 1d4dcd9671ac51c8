"""Front ends: CUDA C++, PTX, Numba and CuPy kernels to one compiled kernel."""
