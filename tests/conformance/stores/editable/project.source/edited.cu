extern "C" __global__ void edited(float* y) { *y = 1; }
