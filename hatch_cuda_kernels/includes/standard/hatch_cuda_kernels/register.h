// C++17 has no register any more; nvcc takes it and does nothing with it.
#if __cplusplus >= 201703L && !defined(register)
#define register
#endif
