/* math.h - samba.h has functions of its own: it wants the names of these two, which are one
   instruction each. */
#ifndef WEB_MATH_H
#define WEB_MATH_H
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define sqrtf __builtin_sqrtf
#define floorf __builtin_floorf
#endif
