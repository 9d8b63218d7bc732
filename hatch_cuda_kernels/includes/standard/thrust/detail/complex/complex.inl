// Thrust's own, after the declarations that thrust/complex.h of this folder gives a mark.
#undef operator
#include <nv/../thrust/detail/complex/complex.inl>
