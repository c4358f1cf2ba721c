/* time.h - the clock of the page. */
#ifndef WEB_TIME_H
#define WEB_TIME_H
typedef double clock_t;
#define CLOCKS_PER_SEC 1000.0
clock_t clock(void);
#endif
