extern "C" __global__ void exact(float* y) { *y = 1; }
