// As gcc has it for C++: bool, true and false are words of the language.
#ifndef _HATCH_STDBOOL_H
#define _HATCH_STDBOOL_H

#define _Bool bool
#define __bool_true_false_are_defined 1

#endif
