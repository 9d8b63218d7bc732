extern "C" __global__ void scale_a_b-1(float* y) { *y = 1; }
