#include <hatch_cuda_kernels/thrust_classes.h>
