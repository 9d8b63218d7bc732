extern "C" __global__ void linked(float* y) { *y = 1; }
