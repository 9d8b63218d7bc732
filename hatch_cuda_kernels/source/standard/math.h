#include <cmath>  // the global names are there as well
