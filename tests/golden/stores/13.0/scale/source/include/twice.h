#define TWICE(x) ((x) + (x))
