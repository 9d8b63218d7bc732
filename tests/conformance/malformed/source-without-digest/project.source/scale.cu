extern "C" __global__ void scale(float* y) { *y = 1; }
