// What api.c has for device.c.
#ifndef DEVICE_API_H
#define DEVICE_API_H
#include <stddef.h>

void test_api(const unsigned char *pef, size_t size); // of tiny_sgd

#endif
