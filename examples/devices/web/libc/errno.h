/* errno.h - the one error that files in memory have; see libc.c. */
#ifndef WEB_ERRNO_H
#define WEB_ERRNO_H
extern int errno;
#define ENOENT 2
#define ENOMEM 12
#endif
