extern "C" __global__ void old_ptx(float* y) { *y = 1; }
