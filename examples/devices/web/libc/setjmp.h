/* setjmp.h - WebAssembly cannot jump out of functions. samba.h would where a container finds no
   memory: here that traps, and the page says so. */
#ifndef WEB_SETJMP_H
#define WEB_SETJMP_H
typedef int jmp_buf[1];
#define setjmp(env) ((void)(env), 0)
#define longjmp(env, value) __builtin_trap()
#endif
