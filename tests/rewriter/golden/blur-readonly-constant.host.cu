// weights: 3 elements of float in constant memory, copied from weights_host, the host's array
cudaMemcpyToSymbol(weights_const, weights_host, 3 * sizeof(float));
blur<<<dim3(4, 16, 1), dim3(16, 4, 1)>>>(src, dst, n);
