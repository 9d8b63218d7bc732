extern "C" __global__ void sums(float* y) { *y = 1; }
