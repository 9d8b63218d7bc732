extern "C" __global__ void scale_a_b-2(float* y) { *y = 1; }
