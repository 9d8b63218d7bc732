#include <float.h>
#include <limits.h>
#include <math.h>
