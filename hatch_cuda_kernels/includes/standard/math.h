extern "C++" {  // also for who includes it in extern "C" {
#include <cmath>  // the global names are there as well
}
