// tiles: 544 bytes of shared memory per block, for this block and arguments
blur<<<dim3(4, 16, 1), dim3(16, 4, 1)>>>(src, weights, dst, n);
