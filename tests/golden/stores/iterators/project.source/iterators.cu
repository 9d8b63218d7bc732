#include <thrust/type_traits/is_contiguous_iterator.h>

template <class T>
__global__ void is_contiguous(int* answer) {
  *answer = thrust::is_contiguous_iterator<T>::value;
}
