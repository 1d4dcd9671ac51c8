// tiles: 544 bytes of shared memory per block, for this grid, block and arguments
blur<<<dim3(4, 16, 1), dim3(16, 4, 1), 544>>>(src, weights, dst, n);
