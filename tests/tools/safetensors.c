// safetensors.h: broken files, damaged files, round trips, memory and disks that run out.
//     cc -O2 -I. tests/tools/safetensors.c -lcjson -o safetensors && ./safetensors
// For other readers and writers, see tests/tools/safetensors.sh:
//     ./safetensors --corpus DIR     writes every file of the tables there
//     ./safetensors --write FILE     writes tensors whose values are a formula
//     ./safetensors --read FILE      prints every tensor, its values as bits of f32
// run: -lcjson needs:cjson/cJSON.h
#include "tests/lib/counting.h"
#define SAMBA_SAFETENSORS_MALLOC counting_malloc
#define SAMBA_SAFETENSORS_FREE counting_free
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#include "tools/include/samba/safetensors.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

// ---- Files --------------------------------------------------------------------------------------

static char folder[64], path[128], other[128], why[600];

static void write_file(const char *file, const void *bytes, size_t size)
{
    remove(file); // quicker than to truncate, which some file systems sync
    CHECK(write_whole(file, bytes, size));
}

// length, header, then data of size bytes: 0, 1, 2 ...
static size_t build(unsigned char *out, uint64_t length, const char *header, size_t header_size,
                    size_t data_size)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(length >> 8 * i);
    memcpy(out + 8, header, header_size);
    for (size_t i = 0; i < data_size; i++)
        out[8 + header_size + i] = (unsigned char)i;
    return 8 + header_size + data_size;
}

static samba_safetensors *open_one(const char *file)
{
    return samba_safetensors_open(&file, 1, why, sizeof why);
}

// Nothing stays allocated by what is refused; the reason names the file.
static bool refuses(const char *file, const char *text)
{
    long live = n_live;
    samba_safetensors *f = open_one(file);
    bool fine = !f && strstr(why, text) && strstr(why, file) && n_live == live;
    if (!fine) printf("wanted \"%s\", got %s: %s\n", text, f ? "a file" : "NULL", f ? "" : why);
    samba_safetensors_close(f);
    return fine;
}

// ---- Headers that must be refused ---------------------------------------------------------------

typedef struct broken {
    const char *header;
    size_t data;
    const char *reason;
} broken;

#define F32_AT(name, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"
#define A4 F32_AT("a", "[1]", 0, 4)

static const broken headers[] = {
    // The text
    { "", 0, "must start with {" },
    { " {}", 0, "must start with {" },
    { "\xEF\xBB\xBF{}", 0, "must start with {" },
    { "[]", 0, "must start with {" },
    { "null", 0, "must start with {" },
    { "{", 0, "must be a string" },
    { "{}}", 0, "something follows" },
    { "{}{}", 0, "something follows" },
    { "{}\n", 0, "something follows" },
    { "{}\t", 0, "something follows" },
    { "{}x", 0, "something follows" },
    { "{" A4 ",}", 4, "must be a string" },
    { "{" A4 ","
      "}",
      4, "must be a string" },
    { "{," A4 "}", 4, "must be a string" },
    { "{" A4 A4 "}", 4, "must be , or }" },
    { "{" A4, 4, "must be , or }" },
    { "{a:1}", 0, "must be a string" },
    { "{'a':1}", 0, "must be a string" },
    { "{\"a\" 1}", 0, "must be a colon" },
    { "{\"a\":}", 0, "whole number" },
    { "{\"a\":tru}", 0, "must be a value" },
    { "{\"a", 0, "ends inside a string" },
    { "{\"a\\", 0, "unknown escape" },
    { "{\"a\n\":1}", 0, "control character" },
    { "{\"a\\x\":1}", 0, "unknown escape" },
    { "{\"a\\u12g4\":1}", 0, "four hexadecimal" },
    { "{\"a\\u12", 0, "four hexadecimal" },
    { "{"
      "\"a\\u0000b\":"
      "1}",
      0, "\\u0000" },
    { "{\"a\\ud800\":1}", 0, "surrogate" },
    { "{\"a\\ud800\\n\":1}", 0, "surrogate" },
    { "{\"a\\ud800\\u0041\":1}", 0, "surrogate" },
    { "{\"a\\udc00\":1}", 0, "surrogate" },
    { "{\"a\\udfff\":1}", 0, "surrogate" },
    { "{\"a\\ud800\\udbff\":1}", 0, "surrogate" },
    { "{\"a\\udbff\\ue000\":1}", 0, "surrogate" },
    { "{\"\xFF\":1}", 0, "not UTF-8" },
    { "{\"\xC0\x80\":1}", 0, "not UTF-8" },
    { "{\"\xED\xA0\x80\":1}", 0, "not UTF-8" },
    { "{\"\xF4\x90\x80\x80\":1}", 0, "not UTF-8" },
    { "{\"\xE2\x82\":1}", 0, "not UTF-8" },
    { "{/**/}", 0, "must be a string" },
    { "{\"a\":[[[[1]]]]}", 0, "nested too deep" },
    { "{\"a\":{\"b\":{\"c\":{}}}}", 0, "nested too deep" },
    // Keys
    { "{" A4 "," F32_AT("a", "[1]", 4, 8) "}", 8, "\"a\" stands twice" },
    { "{" A4 "," F32_AT("\\u0061", "[1]", 4, 8) "}", 8, "\"a\" stands twice" },
    { "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
      "\"dtype\" stands twice" },
    { "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}," A4 "}", 4, "\"k\" stands twice" },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "\"__metadata__\" stands twice" },
    // Metadata
    { "{\"__metadata__\":1}", 0, "must be an object" },
    { "{\"__metadata__\":\"x\"}", 0, "must be an object" },
    { "{\"__metadata__\":[]}", 0, "must be an object" },
    { "{\"__metadata__\":null}", 0, "must be an object" },
    { "{\"__metadata__\":{\"k\":1}}", 0, "\"k\" must be a string" },
    { "{\"__metadata__\":{\"k\":null}}", 0, "\"k\" must be a string" },
    { "{\"__metadata__\":{\"k\":{}}}", 0, "\"k\" must be a string" },
    // Entries
    { "{\"a\":1}", 4, "must be an object" },
    { "{\"a\":[]}", 4, "must be an object" },
    { "{\"a\":{}}", 4, "no dtype" },
    { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype" },
    { "{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype" },
    { "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"F31\" is unknown" },
    { "{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"f32\" is unknown" },
    { "{\"a\":{\"dtype\":\"\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"\" is unknown" },
    { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape must be an array" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "shape must be" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}", 4, "shape must be" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,4]}}", 4, "shape must be" },
    { "{" F32_AT("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "at most 8" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets must be" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}}", 4, "data_offsets must be" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4, "data_offsets must be" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4,
      "data_offsets must" },
    { "{\"a\":[0,0,0,0,0,0,0,0,0]}", 0, "at most 8" },
    { "{" F32_AT("a", "[1]", 4, 0) "}", 4, "begin <= end" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":0}}", 4,
      "\"x\" is unknown" },
    // Numbers
    { "{" F32_AT("a", "[-1]", 0, 4) "}", 4, "whole number" },
    { "{" F32_AT("a", "[1.0]", 0, 4) "}", 4, "must be whole" },
    { "{" F32_AT("a", "[1e0]", 0, 4) "}", 4, "must be whole" },
    { "{" F32_AT("a", "[01]", 0, 4) "}", 4, "begin with 0" },
    { "{" F32_AT("a", "[+1]", 0, 4) "}", 4, "whole number" },
    { "{" F32_AT("a", "[NaN]", 0, 4) "}", 4, "whole number" },
    { "{" F32_AT("a", "[9007199254740993]", 0, 4) "}", 4, "above 2^53" },
    { "{" F32_AT("a", "[18446744073709551617]", 0, 4) "}", 4, "above 2^53" },
    // Sizes and places
    { "{" F32_AT("a", "[2]", 0, 4) "}", 4, "takes 8 bytes" },
    { "{" F32_AT("a", "[]", 0, 8) "}", 8, "takes 4 bytes" },
    { "{" F32_AT("a", "[0]", 0, 4) "}", 4, "takes 0 bytes" },
    { "{" F32_AT("a", "[4294967296,4294967296]", 0, 4) "}", 4, "below 2^64" },
    { "{" F32_AT("a", "[4294967296,4294967297]", 0, 4) "}", 4, "below 2^64" },
    { "{" F32_AT("a", "[4611686018427387,4096]", 0, 4) "}", 4, "below 2^64" },
    { "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1,
      "whole number of bytes" },
    { "{" F32_AT("a", "[2]", 0, 8) "}", 4, "the file has 4 bytes of data" },
    { "{" F32_AT("a", "[1]", 4, 8) "}", 8, "leave no hole" },
    { "{" A4 "}", 8, "the file goes on to 8" },
    { "{" A4 "}", 5, "the file goes on to 5" },
    { "{}", 1, "the file goes on to 1" },
    { "{\"__metadata__\":{}}", 4, "the file goes on to 4" },
    { "{" A4 "," F32_AT("b", "[1]", 8, 12) "}", 12, "leave no hole" },
    { "{" A4 "," F32_AT("b", "[1]", 2, 6) "}", 6, "not overlap" },
    { "{" A4 "," F32_AT("b", "[1]", 0, 4) "}", 4, "not overlap" },
    { "{" F32_AT("a", "[2]", 0, 8) "," F32_AT("b", "[1]", 2, 6) "}", 8, "not overlap" },
    { "{" A4 "," F32_AT("b", "[0]", 2, 2) "}", 4, "not overlap" },
    { "{" A4 "," F32_AT("b", "[0]", 5, 5) "}", 4, "ends at byte 5" },
};

enum { N_HEADERS = sizeof headers / sizeof *headers };

// And such that must be accepted.
static const broken good[] = {
    { "{}", 0, "0" },
    { "{}        ", 0, "0" },
    { "{ \n\t\r}", 0, "0" },
    { "{\"__metadata__\":{}}", 0, "0" },
    { "{\"__metadata__\":{\"\":\"\",\"a\":\"\\u00e9\\ud83d\\ude00\"}}", 0, "0" },
    { "{" A4 "}", 4, "1" },
    { "{" A4 "} ", 4, "1" },
    { "{" F32_AT("", "[1]", 0, 4) "}", 4, "1" },
    { "{" F32_AT("a", "[]", 0, 4) "}", 4, "1" },
    { "{" F32_AT("a", "[0]", 0, 0) "}", 0, "1" },
    { "{" F32_AT("a", "[3,0,5]", 0, 0) "," F32_AT("b", "[0]", 0, 0) "}", 0, "2" },
    { "{" F32_AT("b", "[1]", 4, 8) "," A4 "," F32_AT("c", "[0]", 4, 4) "}", 8, "3" },
    { "{" F32_AT("a", "[1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "1" },
    { "{\"\xE2\x82\xAC\":{\"shape\":[2],\"data_offsets\":[0,4],\"dtype\":\"BF16\"}}", 4, "1" },
    { "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3, "1" },
    { "{\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}", 16, "1" },
    { "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "1" },
};

enum { N_GOOD = sizeof good / sizeof *good };

static size_t build_entry(unsigned char *bytes, const broken *b)
{
    return build(bytes, strlen(b->header), b->header, strlen(b->header), b->data);
}

static void test_headers(void)
{
    unsigned char bytes[1024];
    for (size_t i = 0; i < N_HEADERS; i++) {
        test_bad = 0;
        write_file(path, bytes, build_entry(bytes, &headers[i]));
        CHECK(refuses(path, headers[i].reason));
        test_end(headers[i].header);
    }
    for (size_t i = 0; i < N_GOOD; i++) {
        test_bad = 0;
        write_file(path, bytes, build_entry(bytes, &good[i]));
        samba_safetensors *f = open_one(path);
        CHECK(f != NULL);
        CHECK(samba_safetensors_count(f) == (size_t)atoi(good[i].reason));
        if (!f) printf("%s\n", why);
        samba_safetensors_close(f);
        test_end(good[i].header);
    }
}

static int write_corpus(const char *dir)
{
    unsigned char bytes[1024];
    char file[512];
    for (size_t i = 0; i < N_HEADERS + N_GOOD; i++) {
        bool bad = i < N_HEADERS;
        snprintf(file, sizeof file, "%s/%s%03lu.safetensors", dir, bad ? "bad" : "good",
                 (unsigned long)(bad ? i : i - N_HEADERS));
        write_file(file, bytes, build_entry(bytes, bad ? &headers[i] : &good[i - N_HEADERS]));
    }
    return test_bad;
}

// ---- For other readers and writers --------------------------------------------------------------

static samba_safetensors_entry entry_of(const char *name, samba_safetensors_dtype dtype,
                                        int32_t ndim, int64_t d0, int64_t d1)
{
    samba_safetensors_entry e;
    memset(&e, 0, sizeof e);
    e.name = name;
    e.dtype = dtype;
    e.ndim = ndim;
    e.dim[0] = d0;
    e.dim[1] = d1;
    return e;
}

static int write_formula(const char *file)
{
    const samba_safetensors_entry e[6] = {
        entry_of("matrix", SAMBA_SAFETENSORS_F32, 2, 33, 65),
        entry_of("scalar", SAMBA_SAFETENSORS_F32, 0, 0, 0),
        entry_of("nothing", SAMBA_SAFETENSORS_F32, 2, 0, 7),
        entry_of("long \"name\" \xE2\x82\xAC\n", SAMBA_SAFETENSORS_F32, 1, 3, 0),
        entry_of("brain", SAMBA_SAFETENSORS_BF16, 2, 64, 32),
        entry_of("half", SAMBA_SAFETENSORS_F16, 1, 2047, 0),
    };
    const char *const metadata[4] = { "format", "pt", "by", "samba" };
    static float x[1 << 12];
    for (int i = 0; i < 1 << 12; i++)
        x[i] = (float)(i * 3701 % 4001 - 2000) / 77.0f;
    samba_safetensors_writer *w
        = samba_safetensors_create(file, e, 6, metadata, 2, why, sizeof why);
    const uint64_t counts[6] = { 33 * 65, 1, 0, 3, 64 * 32, 2047 };
    for (int i = 0; i < 6; i++)
        samba_safetensors_put(w, x, counts[i]);
    if (samba_safetensors_finish(w, why, sizeof why)) return 0;
    printf("%s\n", why);
    return 1;
}

static int print_tensors(const char *file)
{
    char shape[200];
    const char *key, *value;
    samba_safetensors *f = samba_safetensors_open(&file, 1, why, sizeof why);
    for (size_t i = 0; samba_safetensors_metadata(f, i, &key, &value); i++) {
        printf("metadata %s=%s\n", key, value);
    }
    bool fine = f != NULL;
    for (size_t i = 0; fine && i < samba_safetensors_count(f); i++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, i);
        samba_safetensors_shape_text(t->ndim, t->dim, shape, sizeof shape);
        for (const char *c = t->name; *c; c++)
            putchar((unsigned char)*c > ' ' ? *c : '_');
        printf(" %s %s", samba_safetensors_dtype_name(t->dtype), shape);
        for (uint64_t k = 0; k < t->count && t->dtype <= SAMBA_SAFETENSORS_BF16; k++) {
            float x;
            uint32_t bits;
            fine = fine && samba_safetensors_read_f32(f, t, k, 1, &x, why, sizeof why);
            memcpy(&bits, &x, 4);
            printf(" %08x", (unsigned)bits);
        }
        printf("\n");
    }
    samba_safetensors_close(f);
    if (!fine) printf("%s\n", why);
    return !fine;
}

// ---- Lengths and files that are none ------------------------------------------------------------

static void refuses_length(uint64_t length, const char *header, const char *reason)
{
    unsigned char bytes[64];
    write_file(path, bytes, build(bytes, length, header, strlen(header), 0));
    CHECK(refuses(path, reason));
}

static void test_length_of_header(void)
{
    refuses_length(3, "{}", "only 2 follow");
    refuses_length(100000000, "{}", "only 2 follow");
    refuses_length(100000001, "{}", "is the limit");
    refuses_length(UINT64_MAX, "{}", "is the limit");
    refuses_length((uint64_t)1 << 63, "{}", "is the limit");
    refuses_length(UINT64_MAX - 7, "{}", "is the limit");
    refuses_length(1, "{}", "must be a string");
    refuses_length(0, "", "must start with {");
}

static void test_what_is_no_file(void)
{
    write_file(path, "", 0);
    CHECK(refuses(path, "has 0 bytes"));
    write_file(path, "\2\0\0\0\0\0\0", 7);
    CHECK(refuses(path, "has 7 bytes"));
    write_file(path, "PK\3\4 a zip file, as .pt files are", 34);
    CHECK(refuses(path, "Is this a safetensors file?"));
    CHECK(refuses(folder, "no regular file"));
    CHECK(refuses("/dev/zero", "no regular file"));
    CHECK(refuses("build/there/is/no/such.safetensors", "cannot be opened"));
    const char *none = NULL;
    CHECK(!samba_safetensors_open(&none, 1, why, sizeof why) && strstr(why, "path 0 is NULL"));
    CHECK(!samba_safetensors_open(NULL, 0, why, sizeof why) && strstr(why, "no path"));
    CHECK(!samba_safetensors_open(&none, 0, NULL, 0));
    samba_safetensors_close(NULL);
    CHECK(!samba_safetensors_at(NULL, 0) && !samba_safetensors_find(NULL, "a"));
    CHECK(!samba_safetensors_read_f32(NULL, NULL, 0, 0, NULL, why, sizeof why));
    CHECK(!strcmp(samba_safetensors_dtype_name((samba_safetensors_dtype)99), "none"));
}

static void test_names_in_reasons_are_printable(void)
{
    unsigned char bytes[1024];
    broken b = { "{\"\\u001b[2J\\u007f\":{}}", 0, "\"?[2J?\"" };
    write_file(path, bytes, build_entry(bytes, &b));
    CHECK(refuses(path, b.reason));
    char small[12];
    const char *file = path;
    CHECK(!samba_safetensors_open(&file, 1, small, sizeof small) && strlen(small) < sizeof small);
}

// ---- Damage -------------------------------------------------------------------------------------

static const char small_header[]
    = "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
      "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[24,28]},"
      "\"c\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[28,30]},"
      "\"d\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[30,38]}}  ";

// Reads all that can be read of a file that may be damaged: nothing may happen but an error.
static bool read_all(const char *file)
{
    float out[64];
    samba_safetensors *f = open_one(file);
    if (!f) return false;
    for (size_t i = 0; i < samba_safetensors_count(f); i++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, i);
        CHECK(samba_safetensors_find(f, t->name) == t);
        if (t->count <= 64) samba_safetensors_read_f32(f, t, 0, t->count, out, why, sizeof why);
    }
    samba_safetensors_close(f);
    return true;
}

// What does not fit into a room for names ends with dots, wherever it is cut.
static void test_shown_in_little_room(void)
{
    static const char *const text[2] = { "abcdefgh", "abc\001\002" };
    for (int t = 0; t < 2; t++) {
        char whole[64], room[64];
        samba_base_shown(text[t], whole, sizeof whole);
        size_t n = strlen(whole);
        for (size_t size = 1; size <= n + 2; size++) {
            memset(room, 'x', sizeof room);
            const char *shown = samba_base_shown(text[t], room, size);
            size_t length = strlen(shown);
            CHECK(shown == room && length < size && room[size] == 'x');
            if (size > n)
                CHECK(!strcmp(shown, whole));
            else if (size < 4)
                CHECK(length == 0);
            else
                CHECK(length >= 3 && !strcmp(shown + length - 3, "...")
                      && !strncmp(shown, whole, length - 3));
        }
    }
}

static void test_every_truncation(void)
{
    unsigned char bytes[1024];
    size_t size = build(bytes, strlen(small_header), small_header, strlen(small_header), 38);
    for (size_t n = 0; n < size; n++) {
        write_file(path, bytes, n);
        CHECK(!read_all(path) && strstr(why, path));
    }
    write_file(path, bytes, size);
    CHECK(read_all(path));
    bytes[size] = 0;
    write_file(path, bytes, size + 1);
    CHECK(!read_all(path));
}

static void test_every_changed_byte(void)
{
    unsigned char bytes[1024];
    size_t size = build(bytes, strlen(small_header), small_header, strlen(small_header), 38);
    size_t data = size - 38, n_read = 0;
    for (size_t i = 0; i < data; i++) {
        for (int to = 0; to < 256; to++) {
            unsigned char was = bytes[i];
            bytes[i] = (unsigned char)to;
            write_file(path, bytes, size);
            n_read += read_all(path);
            bytes[i] = was;
        }
    }
    CHECK(n_read > data); // at least the unchanged ones, and letters of names
    CHECK(n_live == 0);
}

// ---- Sets of shards -----------------------------------------------------------------------------

static void write_shard(const char *file, const char *header, size_t data)
{
    unsigned char bytes[1024];
    write_file(file, bytes, build(bytes, strlen(header), header, strlen(header), data));
}

static void test_shards(void)
{
    const char *both[2] = { path, other };
    float x[4];
    write_shard(path, "{\"__metadata__\":{\"k\":\"1\"}," F32_AT("b", "[1]", 4, 8) "," A4 "}", 8);
    write_shard(other, "{\"__metadata__\":{\"k\":\"2\"}," F32_AT("A", "[2]", 0, 8) "}", 8);
    samba_safetensors *f = samba_safetensors_open(both, 2, why, sizeof why);
    CHECK(samba_safetensors_count(f) == 3);
    if (!f) return;
    CHECK(!strcmp(samba_safetensors_at(f, 0)->name, "a") && !samba_safetensors_at(f, 3));
    const samba_safetensors_tensor *t = samba_safetensors_find(f, "A");
    CHECK(t && t->file == 1 && t->ndim == 1 && t->dim[0] == 2 && t->count == 2);
    CHECK(samba_safetensors_read_f32(f, t, 1, 1, x, why, sizeof why));
    const unsigned char bits[4] = { 4, 5, 6, 7 };
    CHECK(!memcmp(x, bits, 4));
    CHECK(!samba_safetensors_read_f32(f, t, 1, 2, x, why, sizeof why));
    CHECK(strstr(why, "has 2 elements; 2 from number 1") != NULL);
    CHECK(!samba_safetensors_read_f32(f, t, UINT64_MAX, 2, x, why, sizeof why));
    CHECK(!samba_safetensors_find(f, "c") && !samba_safetensors_find(f, ""));
    const char *key = NULL, *value = NULL;
    CHECK(samba_safetensors_metadata(f, 1, &key, &value) && !strcmp(value, "2"));
    CHECK(!samba_safetensors_metadata(f, 2, &key, &value));
    samba_safetensors_close(f);

    write_shard(other, "{" A4 "}", 4);
    CHECK(!samba_safetensors_open(both, 2, why, sizeof why));
    CHECK(strstr(why, "tensor \"a\" is in ") && strstr(why, path) && strstr(why, ", too"));
    both[1] = path;
    CHECK(!samba_safetensors_open(both, 2, why, sizeof why) && strstr(why, "too"));
}

static void check_index(const samba_safetensors *f, const char *json, const char *reason)
{
    char index[128], text[600];
    const char *name = samba_safetensors__base_name(path),
               *second = samba_safetensors__base_name(other);
    snprintf(index, sizeof index, "%s/index.json", folder);
    snprintf(text, sizeof text, json, name, second);
    write_file(index, text, strlen(text));
    bool fine = samba_safetensors_check_index(f, index, why, sizeof why);
    if (fine != !reason || (reason && !strstr(why, reason))) printf("%s\n%s\n", text, why);
    CHECK(fine == !reason);
    CHECK(!reason || (strstr(why, reason) && strstr(why, index)));
    remove(index);
}

static void test_index(void)
{
    const char *both[2] = { path, other };
    write_shard(path, "{" A4 "," F32_AT("b", "[1]", 4, 8) "}", 8);
    write_shard(other, "{" F32_AT("c", "[2]", 0, 8) "}", 8);
    samba_safetensors *f = samba_safetensors_open(both, 2, why, sizeof why);
    CHECK(f != NULL);
    check_index(f,
                "{\"metadata\":{\"total_size\":1.6e1},\n \"weight_map\":{\"a\":\"%1$s\","
                "\"b\":\"%1$s\",\"c\":\"%2$s\"}}\n",
                NULL);
    check_index(f, "{\"weight_map\":{\"a\":\"%1$s\",\"c\":\"%2$s\"}}", "tensor \"b\" of");
    check_index(f, "{\"weight_map\":{}}", "tensor \"a\" of");
    check_index(f, "{\"weight_map\":{\"a\":\"%1$s\",\"b\":\"%1$s\",\"c\":\"%1$s\"}}", "should be");
    check_index(f, "{\"weight_map\":{\"d\":\"%1$s\"}}", "\"d\" of file");
    check_index(f, "{\"weight_map\":{\"a\":1}}", "must be a file name");
    check_index(f, "{\"weight_map\":{\"a\":\"../../etc/passwd\"}}", "should be in ../../etc");
    check_index(f, "{\"weight_map\":[]}", "no object");
    check_index(f, "{}", "no object");
    check_index(f, "{\"weight_map\":{\"a\":\"%1$s\",\"a\":\"%1$s\"}}", "stands twice");
    check_index(f, "{\"weight_map\":", "here must be a value");
    CHECK(!samba_safetensors_check_index(f, "build/no/index", why, sizeof why));
    CHECK(!samba_safetensors_check_index(f, NULL, why, sizeof why) && strstr(why, "NULL"));
    CHECK(!samba_safetensors_check_index(NULL, path, why, sizeof why) && strstr(why, "NULL"));
    samba_safetensors_close(f);
}

// ---- Types --------------------------------------------------------------------------------------

static double f16_value(unsigned h)
{
    int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
    double x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000u ? -x : x;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void test_all_of_f16(void)
{
    int wrong = 0;
    for (unsigned h = 0; h < 65536; h++) {
        float x = float_of(samba_safetensors__f16_bits(h));
        double want = f16_value(h);
        bool nan = want != want;
        if (nan ? x == x : (double)x != want || !!signbit(x) != !!(h & 0x8000u)) wrong++;
        uint32_t bits, back;
        memcpy(&bits, &x, 4);
        back = samba_safetensors__to_f16(bits);
        if (nan ? (back & 0x7FFFu) <= 0x7C00u : back != h) wrong++;
    }
    CHECK(wrong == 0);
}

// Half way between neighbours goes to the even one, anything beyond to the nearer.
static void test_rounding(void)
{
    int wrong = 0;
    for (unsigned h = 0; h < 0x7BFF; h++) {
        float low = (float)f16_value(h), high = (float)f16_value(h + 1), middle = (low + high) / 2;
        uint32_t bits;
        memcpy(&bits, &middle, 4);
        wrong += samba_safetensors__to_f16(bits) != h + (h & 1);
        wrong += samba_safetensors__to_f16(bits - 1) != h
            || samba_safetensors__to_f16(bits + 1) != h + 1;
        wrong += samba_safetensors__to_f16((bits + 1) | 0x80000000u) != (0x8000u | (h + 1));
    }
    for (uint32_t h = 0; h < 0x7F80; h++) {
        wrong += samba_safetensors__to_bf16(h << 16) != h;
        wrong += samba_safetensors__to_bf16(h << 16 | 0x7FFFu) != h;
        wrong += samba_safetensors__to_bf16(h << 16 | 0x8000u) != h + (h & 1);
        wrong += samba_safetensors__to_bf16(h << 16 | 0x8001u) != h + 1;
    }
    CHECK(wrong == 0);
    CHECK(samba_safetensors__to_f16(0x477FEFFFu) == 0x7BFF
          && samba_safetensors__to_f16(0x477FF000u) == 0x7C00);
    CHECK(samba_safetensors__to_f16(0x7F800000u) == 0x7C00
          && samba_safetensors__to_f16(0xFF800000u) == 0xFC00);
    CHECK(samba_safetensors__to_bf16(0x7F800001u) == 0x7FC0
          && samba_safetensors__to_f16(0x7F800001u) > 0x7C00);
}

static void test_other_types_are_listed_and_refused(void)
{
    char header[200];
    float x[8];
    for (int i = 0; i < SAMBA_SAFETENSORS_N_DTYPES; i++) {
        unsigned bytes = samba_safetensors__dtype_bits(i); // of 8 elements
        snprintf(header, sizeof header,
                 "{\"a\":{\"dtype\":\"%s\",\"shape\":[8],"
                 "\"data_offsets\":[0,%u]}}",
                 samba_safetensors__dtype_text(i), bytes);
        write_shard(path, header, bytes);
        samba_safetensors *f = open_one(path);
        const samba_safetensors_tensor *t = samba_safetensors_find(f, "a");
        CHECK(t && (int)t->dtype == i && t->count == 8 && t->bytes == bytes);
        bool fine = samba_safetensors_read_f32(f, t, 0, 8, x, why, sizeof why);
        CHECK(fine == (i <= SAMBA_SAFETENSORS_BF16));
        CHECK(
            fine
            || (strstr(why, samba_safetensors__dtype_text(i)) && strstr(why, "Convert the file")));
        samba_safetensors_close(f);
    }
}

// ---- Writing ------------------------------------------------------------------------------------

enum { LONG = 100000 };

static void test_round_trip(void)
{
    static float big[LONG], got[LONG];
    const float three[3] = { 1.5f, -0.0f, 65504.0f }, one = 3.14159274f;
    const char *odd = "quote\" back\\slash \x01 \xE2\x82\xAC",
               *const metadata[4] = { "format", "pt", odd, "" };
    for (int i = 0; i < LONG; i++)
        big[i] = float_of((uint32_t)i * 2654435761u);
    const samba_safetensors_entry e[5] = {
        entry_of("big", SAMBA_SAFETENSORS_F32, 2, 100, LONG / 100),
        entry_of("scalar", SAMBA_SAFETENSORS_F32, 0, 0, 0),
        entry_of("none", SAMBA_SAFETENSORS_F32, 2, 7, 0),
        entry_of(odd, SAMBA_SAFETENSORS_BF16, 1, 3, 0),
        entry_of("half", SAMBA_SAFETENSORS_F16, 2, 3, 1),
    };
    samba_safetensors_writer *w
        = samba_safetensors_create(path, e, 5, metadata, 2, why, sizeof why);
    CHECK(w != NULL);
    samba_safetensors_allow_nonfinite(w);
    for (int at = 0, n; at < LONG; at += n) { // pieces of any size
        n = 1 + at % 977;
        if (n > LONG - at) n = LONG - at;
        CHECK(samba_safetensors_put(w, big + at, (uint64_t)n));
    }
    float rest[7] = { one, three[0], three[1], three[2], three[0], three[1], three[2] };
    CHECK(samba_safetensors_put(w, rest, 7));
    CHECK(samba_safetensors_finish(w, why, sizeof why));
    samba_safetensors *f = open_one(path);
    CHECK(samba_safetensors_count(f) == 5);
    if (!f) return;
    for (size_t i = 0; i < 5; i++) {
        const samba_safetensors_tensor *t = samba_safetensors_find(f, e[i].name);
        CHECK(t && t->dtype == e[i].dtype && t->ndim == e[i].ndim);
        CHECK(t && !memcmp(t->dim, e[i].dim, (size_t)e[i].ndim * sizeof *t->dim));
        if (!t || !samba_safetensors_read_f32(f, t, 0, t->count, got, why, sizeof why)) continue;
        if (i == 0) CHECK(!memcmp(got, big, sizeof big) && (t->at % 8) == 0);
        if (i == 1) CHECK(got[0] == one);
        if (i == 4) CHECK(!memcmp(got, three, sizeof three));
        if (i == 3) CHECK(got[0] == 1.5f && signbit(got[1]) && got[2] == 65536.0f);
    }
    const char *key = NULL, *value = NULL;
    CHECK(samba_safetensors_metadata(f, 1, &key, &value) && !strcmp(key, odd) && !*value);
    samba_safetensors_close(f);
    CHECK(n_live == 0);
}

// Values that are not finite, in the type of the file, are refused.
static void test_what_is_not_finite_is_refused(void)
{
    const struct {
        float value;
        samba_safetensors_dtype dtype;
        bool refused;
    } cases[7] = {
        { NAN, SAMBA_SAFETENSORS_F32, true },       { -INFINITY, SAMBA_SAFETENSORS_F32, true },
        { 3.4e38f, SAMBA_SAFETENSORS_F32, false },  { 3.4e38f, SAMBA_SAFETENSORS_BF16, true },
        { 3.3e38f, SAMBA_SAFETENSORS_BF16, false }, { 65520, SAMBA_SAFETENSORS_F16, true },
        { 65519, SAMBA_SAFETENSORS_F16, false },
    };

    for (int i = 0; i < 7; i++) {
        samba_safetensors_entry e = entry_of("x", cases[i].dtype, 1, 3, 0);
        const float x[3] = { 1, cases[i].value, 2 }, *data = x;
        bool saved
            = samba_safetensors_save("build/nonfinite.safetensors", &e, &data, 1, why, sizeof why);
        CHECK(saved != cases[i].refused);
        if (!saved) CHECK(strstr(why, "not finite") != NULL);
        remove("build/nonfinite.safetensors");
    }
    CHECK(n_live == 0);
}

// How many files the folder of these tests has that somebody writes.
static int n_temporary(void)
{
    return count_files(folder, "samba-", "");
}

static bool file_is(const char *file, const char *text)
{
    char bytes[64] = "";
    read_into(file, bytes, sizeof bytes - 1);
    return strcmp(bytes, text) == 0;
}

// What is refused leaves the old file and no temporary one.
static void refuses_entry(samba_safetensors_entry e, const char *reason)
{
    samba_safetensors_entry twice[2] = { e, e };
    samba_safetensors_writer *w
        = samba_safetensors_create(path, twice, 2, NULL, 0, why, sizeof why);
    CHECK(!w && strstr(why, reason) && strstr(why, path));
    if (!strstr(why, reason)) printf("%s\n", why);
    CHECK(n_temporary() == 0 && n_live == 0);
    samba_safetensors_abandon(w);
}

static void test_what_cannot_be_written(void)
{
    const samba_safetensors_dtype f32 = SAMBA_SAFETENSORS_F32;
    refuses_entry(entry_of("a", f32, 1, 1, 0), "\"a\" stands twice");
    refuses_entry(entry_of(NULL, f32, 1, 1, 0), "is NULL");
    refuses_entry(entry_of("__metadata__", f32, 1, 1, 0), "__metadata__");
    refuses_entry(entry_of("\xFF", f32, 1, 1, 0), "UTF-8");
    refuses_entry(entry_of("a", SAMBA_SAFETENSORS_I64, 1, 1, 0), "only F32, BF16 and F16");
    refuses_entry(entry_of("a", (samba_safetensors_dtype)99, 1, 1, 0), "only F32, BF16 and F16");
    refuses_entry(entry_of("a", f32, -1, 1, 0), "dimensions");
    refuses_entry(entry_of("a", f32, 9, 1, 0), "dimensions");
    refuses_entry(entry_of("a", f32, 1, -1, 0), "dimensions");
    refuses_entry(entry_of("a", f32, 2, (int64_t)1 << 32, (int64_t)1 << 32), "dimensions");
    refuses_entry(entry_of("a", f32, 1, (int64_t)1 << 52, 0), "2^53 bytes");
    samba_safetensors_entry e = entry_of("a", f32, 1, 2, 0);
    const char *const bad[2] = { "k", "\xFF" };
    CHECK(!samba_safetensors_create(path, &e, 1, bad, 1, why, sizeof why));
    CHECK(strstr(why, "string 1 of the metadata") != NULL);
    CHECK(!samba_safetensors_create(NULL, &e, 1, NULL, 0, why, sizeof why));
    CHECK(!samba_safetensors_create(path, NULL, 1, NULL, 0, why, sizeof why));
    CHECK(!samba_safetensors_create(path, &e, 1, NULL, 1, why, sizeof why));
    CHECK(!samba_safetensors_create("build/no/where", &e, 1, NULL, 0, why, sizeof why));
    CHECK(strstr(why, "build/no/where: it cannot be written") && n_live == 0);
    CHECK(!samba_safetensors_finish(NULL, why, sizeof why));
    CHECK(!samba_safetensors_put(NULL, NULL, 0));
    samba_safetensors_abandon(NULL);
}

static void test_an_unfinished_file_replaces_nothing(void)
{
    const float x[3] = { 1, 2, 3 }, *const data = x;
    char mine[140], left[140];
    samba_safetensors_entry e = entry_of("a", SAMBA_SAFETENSORS_F32, 1, 2, 0);
    snprintf(mine, sizeof mine, "%s.tmp", path); // a file of somebody else
    snprintf(left, sizeof left, "%s/samba-0123456789abcdef.tmp", folder);
    write_file(mine, "mine", 4);
    CHECK(samba_safetensors_save(path, &e, &data, 1, why, sizeof why));
    e.name = "b";
    samba_safetensors_writer *w = samba_safetensors_create(path, &e, 1, NULL, 0, why, sizeof why);
    CHECK(samba_safetensors_put(w, x, 1) && n_temporary() == 1);
    CHECK(!samba_safetensors_finish(w, why, sizeof why));
    CHECK(strstr(why, "tensor 0 of 1 got 1 of its 2 elements") && n_temporary() == 0);
    w = samba_safetensors_create(path, &e, 1, NULL, 0, why, sizeof why);
    samba_safetensors_writer *other_one
        = samba_safetensors_create(path, &e, 1, NULL, 0, why, sizeof why);
    CHECK(other_one && n_temporary() == 2); // each has a file of its own
    samba_safetensors_abandon(other_one);
    CHECK(!samba_safetensors_put(w, x, 3) && !samba_safetensors_put(w, x, 1));
    CHECK(!samba_safetensors_finish(w, why, sizeof why) && strstr(why, "more elements"));
    w = samba_safetensors_create(path, &e, 1, NULL, 0, why, sizeof why);
    samba_safetensors_put(w, x, 2);
    samba_safetensors_abandon(w);
    CHECK(n_temporary() == 0 && n_live == 0);
    samba_safetensors *f = open_one(path);
    CHECK(samba_safetensors_find(f, "a") != NULL);
    samba_safetensors_close(f);
    write_file(left, "left by a killed process", 24);
    CHECK(samba_safetensors_save(path, &e, &data, 1, why, sizeof why) && n_temporary() == 0);
    CHECK(!samba_safetensors_save(folder, &e, &data, 1, why, sizeof why));
    CHECK(strstr(why, "this is a folder") != NULL && file_exists(mine) && file_is(mine, "mine"));
    remove(mine);
    const float *nothing = NULL;
    CHECK(!samba_safetensors_save(path, &e, &nothing, 1, why, sizeof why));
    CHECK(!samba_safetensors_save(path, &e, NULL, 1, why, sizeof why));
}

// A pipe whose name is that of a leftover makes nobody wait: it goes as one.
static void test_a_pipe_among_leftovers(void)
{
    const float x[2] = { 1, 2 }, *const data = x;
    char left[140];
    samba_safetensors_entry e = entry_of("a", SAMBA_SAFETENSORS_F32, 1, 2, 0);
    snprintf(left, sizeof left, "%s/samba-0123456789abcdef.tmp", folder);
    CHECK(mkfifo(left, 0600) == 0);
    alarm(60);
    CHECK(samba_safetensors_save(path, &e, &data, 1, why, sizeof why) && n_temporary() == 0);
    alarm(0);
}

// A service may have closed its standard input: then a file gets the number 0.
static void test_saves_without_standard_input(void)
{
    const float x[2] = { 1, 2 }, *const data = x;
    samba_safetensors_entry e = entry_of("a", SAMBA_SAFETENSORS_F32, 1, 2, 0);
    int kept = dup(0);
    CHECK(kept > 0 && close(0) == 0);
    why[0] = 0;
    CHECK(samba_safetensors_save(path, &e, &data, 1, why, sizeof why) && n_temporary() == 0);
    samba_safetensors *f = open_one(path);
    CHECK(samba_safetensors_count(f) == 1);
    samba_safetensors_close(f);
    CHECK(dup2(kept, 0) == 0 && close(kept) == 0);
    if (*why) printf("%s\n", why);
}

static void test_a_full_disk(void)
{
    const float x[2] = { 1, 2 };
    struct rlimit old, small;
    samba_safetensors_entry e = entry_of("a", SAMBA_SAFETENSORS_F32, 1, LONG, 0);
    if (getrlimit(RLIMIT_FSIZE, &old)) return;
    samba_safetensors_writer *w = samba_safetensors_create(path, &e, 1, NULL, 0, why, sizeof why);
    CHECK(w != NULL);
    small = old;
    small.rlim_cur = 4096;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0); // with SIGXFSZ ignored: EFBIG
    for (int i = 0; i < LONG / 2; i++)
        samba_safetensors_put(w, x, 2);
    CHECK(!samba_safetensors_finish(w, why, sizeof why) && strstr(why, "cannot be written"));
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(n_live == 0);
}

// ---- Strict JSON --------------------------------------------------------------------------------

static bool json_is(const char *text, const char *reason)
{
    cJSON *json = samba_safetensors_json(text, text ? strlen(text) : 0, 4, false, "config", why,
                                         sizeof why);
    bool fine = reason ? !json && strstr(why, reason) : json != NULL;
    if (!fine) printf("%s: %s\n", text, why);
    cJSON_Delete(json);
    return fine;
}

static void test_json(void)
{
    CHECK(json_is(" {\"a\": -1.5e-5, \"b\": [true, false, null], \"c\": {}}\r\n", NULL));
    CHECK(json_is("{\"a\": 0}", NULL));
    CHECK(json_is("{\"a\": 00}", "begin with 0"));
    CHECK(json_is("{\"a\": -}", "must be a value"));
    CHECK(json_is("{\"a\": 1.}", "after the point"));
    CHECK(json_is("{\"a\": .5}", "must be a value"));
    CHECK(json_is("{\"a\": 1e}", "exponent"));
    CHECK(json_is("{\"a\": Infinity}", "must be a value"));
    CHECK(json_is("{\"a\": 0x10}", "must be , or }"));
    CHECK(json_is("{\"a\": 1111111111111111111111111111111111111111111111111111111111111}",
                  "60 characters"));
    CHECK(json_is("{\"a\": [[[1]]]}", NULL));
    CHECK(json_is("{\"a\": [[[[1]]]]}", "nested too deep"));
    CHECK(json_is("{\"a\": 1, \"a\": 2}", "stands twice"));
    CHECK(json_is("[1]", "must start with {"));
    CHECK(json_is("", "must start with {"));
    CHECK(json_is(NULL, "NULL"));
    CHECK(!samba_safetensors_json_file(NULL, 4, why, sizeof why) && strstr(why, "NULL"));
    CHECK(n_live == 0);
}

// ---- Memory, and time ---------------------------------------------------------------------------

// Opens, checks an index, reads, writes: false if any failed.
static bool scenario(void)
{
    const char *both[2] = { path, other };
    char index[128], copy[140];
    float x[2] = { 0, 0 };
    const float *data[2] = { x, x };
    const char *const metadata[2] = { "format", "pt" };
    const samba_safetensors_entry e[2] = { entry_of("a", SAMBA_SAFETENSORS_F32, 1, 2, 0),
                                           entry_of("b", SAMBA_SAFETENSORS_F32, 1, 2, 0) };
    snprintf(index, sizeof index, "%s/index.json", folder);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    samba_safetensors *f = samba_safetensors_open(both, 2, why, sizeof why);
    bool fine = f && samba_safetensors_check_index(f, index, why, sizeof why)
        && samba_safetensors_read_f32(f, samba_safetensors_find(f, "c"), 0, 2, x, why, sizeof why);
    samba_safetensors_close(f);
    fine = fine && samba_safetensors_save(copy, e, data, 2, why, sizeof why);
    samba_safetensors_writer *w
        = fine ? samba_safetensors_create(copy, e, 2, metadata, 1, why, sizeof why) : NULL;
    fine = w && samba_safetensors_put(w, x, 2) && samba_safetensors_put(w, x, 2);
    if (w) fine = samba_safetensors_finish(w, why, sizeof why) && fine;
    fine = fine && samba_safetensors_replace(copy, "{}", 2, why, sizeof why);
    remove(copy);
    return fine;
}

static void test_every_failing_allocation(void)
{
    char index[128], text[400];
    snprintf(index, sizeof index, "%s/index.json", folder);
    snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\",\"c\":\"%s\"}}",
             samba_safetensors__base_name(path), samba_safetensors__base_name(other));
    write_file(index, text, strlen(text));
    write_shard(path, "{\"__metadata__\":{\"k\":\"v\"}," A4 "}", 4);
    write_shard(other, "{" F32_AT("c", "[2]", 0, 8) "}", 8);
    cJSON_Hooks hooks = { counting_malloc, counting_free };
    cJSON_InitHooks(&hooks);
    bool done = false;
    long n = 0;
    for (; n < 1000 && !done; n++) {
        n_calls = 0;
        fail_at = n;
        why[0] = 0;
        done = scenario();
        fail_at = -1;
        CHECK(done || strstr(why, "no memory"));
        if (!done && !strstr(why, "no memory")) printf("%ld: %s\n", n, why);
        CHECK(n_live == 0);
    }
    cJSON_InitHooks(NULL);
    CHECK(done && n > 50);
    remove(index);
}

// 200,000 tensors: far more than any model; a square of that would take minutes.
static void test_many_tensors(void)
{
    enum { MANY = 200000 };

    samba_safetensors_entry *e = (samba_safetensors_entry *)calloc(MANY, sizeof *e);
    char(*names)[16] = (char(*)[16])calloc(MANY, sizeof *names);
    float *x = (float *)calloc(MANY, sizeof *x);
    const float **data = (const float **)calloc(MANY, sizeof *data);
    double start = (double)clock() / CLOCKS_PER_SEC;
    CHECK(e && names && x && data);
    for (int i = 0; e && names && x && data && i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i * 7919 % MANY);
        e[i] = entry_of(names[i], SAMBA_SAFETENSORS_F32, 1, 1, 0);
        x[i] = (float)i;
        data[i] = &x[i];
    }
    CHECK(samba_safetensors_save(path, e, data, MANY, why, sizeof why));
    samba_safetensors *f = open_one(path);
    CHECK(samba_safetensors_count(f) == MANY);
    for (int i = 0; i < MANY && f; i += 37) {
        float got = -1;
        const samba_safetensors_tensor *t = samba_safetensors_find(f, names[i]);
        CHECK(t && samba_safetensors_read_f32(f, t, 0, 1, &got, why, sizeof why) && got == x[i]);
    }
    samba_safetensors_close(f);
    double seconds = (double)clock() / CLOCKS_PER_SEC - start;
    printf("%d tensors written, opened, found in %.2f s\n", MANY, seconds);
    CHECK(seconds < 60);
    free(e);
    free(names);
    free(x);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--corpus")) return write_corpus(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--write")) return write_formula(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--read")) return print_tensors(argv[2]);
    signal(SIGXFSZ, SIG_IGN);
    mkdir("build", 0777);
    snprintf(folder, sizeof folder, "build/safetensors.%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/one.safetensors", folder);
    snprintf(other, sizeof other, "%s/two.safetensors", folder);
    if (mkdir(folder, 0777)) {
        printf("no %s\n0 passed, 1 failed\n", folder);
        return 1;
    }
    test_headers();
    RUN(test_length_of_header);
    RUN(test_what_is_no_file);
    RUN(test_names_in_reasons_are_printable);
    RUN(test_shown_in_little_room);
    RUN(test_every_truncation);
    RUN(test_every_changed_byte);
    RUN(test_shards);
    RUN(test_index);
    RUN(test_all_of_f16);
    RUN(test_rounding);
    RUN(test_other_types_are_listed_and_refused);
    RUN(test_round_trip);
    RUN(test_what_is_not_finite_is_refused);
    RUN(test_what_cannot_be_written);
    RUN(test_an_unfinished_file_replaces_nothing);
    RUN(test_a_pipe_among_leftovers);
    RUN(test_saves_without_standard_input);
    RUN(test_a_full_disk);
    RUN(test_json);
    RUN(test_every_failing_allocation);
    RUN(test_many_tensors);
    remove(path);
    remove(other);
    rmdir(folder);
    return test_summary();
}
