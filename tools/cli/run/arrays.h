// Arrays in files: of NumPy (.npy, .npz), JSON, and the bytes alone (.raw, .bin).
#ifndef SAMBA_RUN_ARRAYS_H
#define SAMBA_RUN_ARRAYS_H

#include "tools/cli/util/npy.h"

enum { ARRAY_NAME = 256 };

typedef struct named_array {
    char name[ARRAY_NAME]; // "": the file gives it none
    npy array;
} named_array;

typedef struct arrays {
    named_array *at;
    int n;
} arrays;

typedef enum file_kind { FILE_NPY, FILE_NPZ, FILE_JSON, FILE_RAW, FILE_UNKNOWN } file_kind;

file_kind kind_of_file(const char *path); // by the end of its name
// What a .npy, .npz or .json file has; *list is to be freed. False, with the path and the reason.
bool read_arrays(arrays *list, const char *path, fault *why);
void free_arrays(arrays *list);
// Adds an array that the list owns from then on, or frees it.
bool add_array(arrays *list, const char *name, size_t length, npy *array, fault *why);
// The parts of read_arrays; the reason has no path.
bool parse_npz(arrays *list, const unsigned char *bytes, size_t size, fault *why);
bool parse_json(arrays *list, const char *text, size_t size, fault *why);
// Numbers of this type, little-endian, one behind another: the shape is that of the input, with as
// many rows as there are.
bool read_raw(npy *array, const char *path, samba_dtype type, const samba_shape *shape, fault *why);

// What a run has made. Numbers that are no integers are f32, whatever they were in the model.
typedef struct result {
    const char *name;
    samba_dtype type;
    samba_shape shape;
    int64_t n;
    unsigned char *data; // as this machine has it
} result;

bool write_result(const char *path, const result *r, fault *why);         // .npy, .raw or .bin
bool write_npz(const char *path, const result *list, int n, fault *why);  // of several
bool write_json(const char *path, const result *list, int n, fault *why); // of several
void print_json(FILE *to, const result *list, int n);
void print_result(FILE *to, const result *r); // for people: long ones are cut
uint32_t crc32_of(const unsigned char *bytes, size_t n);

#endif
