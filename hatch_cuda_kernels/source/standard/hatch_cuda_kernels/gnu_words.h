// Words of GNU C++ that nvcc knows and NVRTC does not.
#ifndef _HATCH_GNU_WORDS_H
#define _HATCH_GNU_WORDS_H

#define __asm__ asm
#define __const const
#define __const__ const
#define __extension__
#define __signed__ signed

#endif
