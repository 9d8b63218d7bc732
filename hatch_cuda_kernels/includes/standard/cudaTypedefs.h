// In place of the list of pointers to the driver API's functions, which are the host's.
#include <cuda.h>
