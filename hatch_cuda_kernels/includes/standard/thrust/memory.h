// What device code uses of it; Thrust's own brings what allocates memory.
#pragma once

#include <hatch_cuda_kernels/thrust_classes.h>
