extern "C" __global__ void scale_float-1(float* y) { *y = 1; }
