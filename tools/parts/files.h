/* ==== [files] ================================================================================= */
/* Only regular files are read and written, and a file is replaced only when the new one is safely
   on disk. */
#include <errno.h>
#if !defined(SAMBA_NO_STDIO) && (defined(__unix__) || defined(__APPLE__))
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#define SAMBA__POSIX_FILES 1
#if !defined(__cplusplus) /* strict -std=c99 hides these */
extern int fsync(int fd);
extern FILE *fdopen(int fd, const char *mode);
#endif
#if !defined(O_CLOEXEC)
#define O_CLOEXEC 0
#endif
/* The nanoseconds of a time in struct stat, which has them under three names. */
#if defined(__APPLE__) && defined(st_mtime)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##timespec.tv_nsec)
#elif defined(st_mtime)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##tim.tv_nsec)
#elif defined(__APPLE__) || defined(__GLIBC__)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##timensec)
#else
#define SAMBA__NANOSECONDS(about, time) 0
#endif
#else
#define SAMBA__POSIX_FILES 0
#endif

SAMBA__FN bool samba__fail_io(samba_session *s, const char *what, const char *path)
{
    return samba_fail(s, SAMBA_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

#if SAMBA__POSIX_FILES
/* What a file system says of a file's last change: of its bytes; of its inode, too. */
SAMBA__FN void samba__stamp_file(samba__file *file, const struct stat *about)
{
    const int64_t second = 1000000000;
    file->modified = (int64_t)about->st_mtime * second + (int64_t)SAMBA__NANOSECONDS(about, m);
    file->changed = (int64_t)about->st_ctime * second + (int64_t)SAMBA__NANOSECONDS(about, c);
}

/* Reads the next n bytes of the file; goes on after a signal. */
SAMBA__FN bool samba__read_bytes(int fd, uint8_t *to, size_t n)
{
    const size_t most = (size_t)1 << 30; /* some systems read no more at once */
    while (n > 0) {
        ssize_t got = read(fd, to, n < most ? n : most);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO; /* the file has been truncated */
        if (got <= 0) return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

SAMBA__FN bool samba__write_bytes(int fd, const uint8_t *from, size_t n)
{
    const size_t most = (size_t)1 << 30;
    while (n > 0) {
        ssize_t put = write(fd, from, n < most ? n : most);
        if (put < 0 && errno == EINTR) continue;
        if (put == 0) errno = EIO;
        if (put <= 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

SAMBA__FN bool samba__sync_file(int fd)
{
    int failed;
    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    return !failed || errno == EINVAL; /* some file systems cannot */
}

/* Does the file still hold the values whose checksum its tables have? The buffer is the workers'
   scratch, because a run allocates nothing. */
SAMBA__FN bool samba__same_data(samba_session *s)
{
    const samba__file *file = &s->program.file;
    uint8_t *window = (uint8_t *)s->program.local;
    size_t room = samba__local_bytes(s) / SAMBA__ALIGN * SAMBA__ALIGN, part;
    size_t size = file->size - file->n_tables, left = size;
    uint64_t v[4];
    if (lseek(file->fd, (off_t)file->n_tables, SEEK_SET) < 0) return false;

    samba__hash_begin(v, 0);
    for (; left > 0; left -= part) { /* data are padded to whole blocks */
        part = left < room ? left : room;
        if (!samba__read_bytes(file->fd, window, part)) return false;
        samba__hash_blocks(v, window, part);
    }
    return samba__hash_end(v, size) == file->pef.data_hash;
}
#endif

/* The values in a mapped file are those that were loaded, unless somebody wrote into it: then a
   time in its inode changed. So it does when the file gets another name, or none; then the
   checksum tells. */
SAMBA__FN bool samba__file_kept(samba_session *s)
{
#if SAMBA__POSIX_FILES
    samba__file *file = &s->program.file;
    samba__file now = *file;
    struct stat about;
    if (!file->mapped || s->errors.code != SAMBA_OK) return s->errors.code == SAMBA_OK;
    if (fstat(file->fd, &about)) return samba__fail_io(s, "look at", "the PEF that is mapped");

    bool kept = (uint64_t)about.st_size == file->size;
    if (kept) samba__stamp_file(&now, &about);
    if (kept && (now.modified != file->modified || now.changed != file->changed)) {
        kept = samba__same_data(s);
        samba__stamp_file(file, &about);
    }

    if (!kept) {
        file->changed = -1; /* the next run is to look again */
        samba_fail(
            s, SAMBA_EIO,
            "somebody wrote into the PEF whose parameters are in use: they are lost. Load it in a new session; replace files by renaming (mv) or set samba_desc.no_map");
    }
#endif
    return s->errors.code == SAMBA_OK;
}

/* Frees the bytes, and the tables unless `keep`. */
SAMBA__FN void samba__file_close(samba_session *s, samba__file *file, bool keep)
{
#if SAMBA__POSIX_FILES
    if (file->mapped) {
        munmap(file->bytes, file->size);
        close(file->fd);
    }
#endif
    if (!file->mapped) samba__free(s, file->bytes, file->size);

    if (!keep) {
        samba__free(s, file->tables, file->n_tables);
        file->tables = NULL;
    }

    file->bytes = NULL;
    file->mapped = false;
}

/* How much room samba__verify_pef gets: enough for a large PEF to be proved in 64 passes over its
   symbols, which is far less memory than the file takes. Small files need none. */
SAMBA__FN uint32_t samba__room_for(uint32_t n_nodes)
{
    return n_nodes / 64 > SAMBA__SKYLINE ? n_nodes / 64 * 4 : 0;
}

/* ---- Files of the version before ---- */
/* Version 1 does not say which state the compiler made: what optimizers step, and the counter that
   dropout reads. Marks it in the tables that become of the file. */
SAMBA__FN void samba__mark_generated(const samba__pef *old, samba__writer *w)
{
    const size_t size = sizeof(samba__symbol_layout);
    uint8_t *generated = w->symbols + offsetof(samba__symbol_layout, generated);

    for (uint32_t i = 0; i < old->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(old, i);
        bool counts = samba__same_text(old->strings + q.name, SAMBA__COUNTER);
        if (q.role == SAMBA__STATE && q.spec.dtype == SAMBA_I32 && counts) generated[i * size] = 1;
    }

    for (uint32_t i = 0; i < old->n_sections; i++) {
        samba__section section = samba__section_at(old, i);
        if (!(section.type & SAMBA_OPT)) continue;
        for (uint32_t node = section.first; node < section.end; node++) {
            samba__call_record r = samba__record_at(old, node);
            for (int32_t o = 0; o < r.n_out; o++) {
                uint32_t symbol = samba__word(&r, r.n_in + o) - 1;
                bool state = samba__symbol_at(old, symbol).role == SAMBA__STATE;
                if (state) generated[symbol * size] = 1;
            }
        }
    }
}

/* The tables of a proved file of an older version as this one has them, in *size bytes of the
   session; NULL without memory. */
SAMBA__FN uint8_t *samba__upgrade_tables(samba_session *s, const samba__pef *old, size_t *size)
{
    samba__writer w;
    memset(&w, 0, sizeof w);
    w.header = samba__read_header(old->base, old->version);
    *size = samba__writer_size(&w);
    uint8_t *bytes = (uint8_t *)samba__alloc(s, *size);
    if (!bytes) return NULL;

    memset(bytes, 0, *size);
    samba__writer_begin(&w, bytes);
    w.header.data_hash = samba__hash(old->data, (size_t)old->data_size, 0);
    samba__put_header(bytes, &w.header);

    for (uint32_t i = 0; i < old->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(old, i);
        samba__put_symbol(w.symbols + i * sizeof(samba__symbol_layout), &q);
    }
    for (uint32_t i = 0; i < old->n_nodes; i++) {
        samba__call_record r = samba__record_at(old, i);
        samba__put_node(w.nodes + i * sizeof(samba__node_layout), &r);
    }
    for (uint32_t i = 0; i < old->n_sections; i++) {
        samba__section q = samba__section_at(old, i);
        samba__put_section(w.sections + i * sizeof(samba__section_layout), &q);
    }

    memcpy(w.words, old->words, (size_t)old->n_words * 4);
    memcpy(w.strings, old->strings, old->strings_size);
    memcpy(w.trace, old->trace, old->trace_size);

    if (old->version == 1) samba__mark_generated(old, &w);
    samba__seal(bytes, *size, *size + (size_t)old->data_size);
    return bytes;
}

/* Replaces the tables of an older file by those of this version, so that the rest of the session
   knows one version alone. The values do not stay in a mapped file then: its own tables lack the
   checksum that samba__same_data compares with. */
SAMBA__FN bool samba__file_upgrade(samba_session *s, samba__file *file, samba__text *why)
{
    samba__pef *pef = &file->pef;
    const uint8_t *data = pef->data;
    if (pef->version == SAMBA__PEF_VERSION) return true;

    size_t n_tables;
    uint8_t *tables = samba__upgrade_tables(s, pef, &n_tables);
    if (!samba__prove(why, tables != NULL, "no memory for its tables")) return false;

    samba__free(s, file->tables, file->n_tables);
    file->tables = tables;
    file->n_tables = n_tables;
    file->stays = false;

    bool fine = samba__open_pef(pef, tables, n_tables + (size_t)pef->data_size, why);
    pef->data = data;
    return fine;
}

/* The bytes of a file that are not data, by its header. */
SAMBA__FN size_t samba__n_tables(const uint8_t *header, size_t file_size)
{
    return file_size - (size_t)samba__read_header(header, SAMBA__PEF_OLDEST).data_size;
}

/* Copies the tables of file->bytes, so that nobody else changes them, and opens the PEF there. */
SAMBA__FN bool samba__copy_tables(samba_session *s, samba__file *file, samba__text *why)
{
    samba__pef *pef = &file->pef;
    pef->user_ops = s->trace.user_ops;
    pef->n_user_ops = samba__n_user_ops(s);
    file->n_tables = 0;
    file->tables = NULL;

    if (!samba__check_header(file->bytes, file->size, why)) return false;
    file->n_tables = samba__n_tables(file->bytes, file->size);
    file->tables = (uint8_t *)samba__alloc(s, file->n_tables);
    if (!file->tables) return false;
    memcpy(file->tables, file->bytes, file->n_tables);

    return samba__prove(why, samba__n_tables(file->tables, file->size) == file->n_tables,
                        "the file was changed while it was read")
        && samba__open_pef(pef, file->tables, file->size, why);
}

/* Proves the PEF that file->bytes are, or closes the file. If most of its data are never written,
   these stay where they are; of a mapped file they are not even read, unless all are wanted. */
SAMBA__FN bool samba__file_prove(samba_session *s, samba__file *file, bool all, const char *path)
{
    char why[400];
    samba__text text = samba__text_in(why, sizeof why);
    samba__pef *pef = &file->pef;

    bool fine = samba__copy_tables(s, file, &text);
    pef->data = file->bytes + file->n_tables;
    file->stays
        = fine && pef->region[SAMBA__REGION_READONLY] > pef->data_size / 2 && samba__in_file(pef);

    bool data = all || !file->stays || !file->mapped;
    uint32_t n_room = fine ? samba__room_for(pef->n_nodes) : 0;
    size_t room_size = (size_t)n_room * sizeof(uint64_t);
    uint64_t *room = n_room ? (uint64_t *)samba__alloc(s, room_size) : NULL;
    fine = fine && (room || !n_room) && samba__verify_pef(pef, data, room, n_room, &text);
    samba__free(s, room, room_size);

    fine = fine && samba__file_upgrade(s, file, &text);
    if (fine) return true;
    samba__file_close(s, file, false);
    return samba_fail(s, SAMBA_EPEF, "%s: %s", path, why);
}

#if SAMBA__POSIX_FILES
/* Opens a regular file, and no other: a FIFO would wait for a writer, a device may have no end.
   -1 after an error. */
SAMBA__FN int samba__open_regular(samba_session *s, const char *path, struct stat *about)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        samba__fail_io(s, "read", path);
        return -1;
    }

    bool fine = true;
    if (fstat(fd, about)) fine = samba__fail_io(s, "read", path);
    if (fine && S_ISDIR(about->st_mode)) {
        errno = EISDIR;
        fine = samba__fail_io(s, "read", path);
    }
    if (fine && !S_ISREG(about->st_mode))
        fine = samba_fail(s, SAMBA_EIO, "cannot read %s: it is no regular file", path);
    if (fine && about->st_size == 0)
        fine = samba_fail(s, SAMBA_EPEF, "%s: the file is empty", path);

    if (fine) return fd;
    close(fd);
    return -1;
}

/* Changes within one tick of the file system's clock have one time, so nobody could see that a file
   changed after it was mapped. Waits out the tick of the last change, at most 20 ms. False: this
   file system seems to count in seconds (FAT: in two of them), and the last change is not 3 of them
   ago. */
SAMBA__FN bool samba__wait_out_tick(const samba__file *file)
{
    const int64_t tick = 20 * 1000000, second = 1000000000;
    struct timeval time;
    gettimeofday(&time, NULL);
    int64_t now = (int64_t)time.tv_sec * second + (int64_t)time.tv_usec * 1000;
    int64_t age = now - samba__max64(file->modified, file->changed);
    bool coarse = file->modified % second == 0 && file->changed % second == 0;
    if (coarse && age < 3 * second) return false;
    if (age >= 0 && age < tick) poll(NULL, 0, (int)((tick - age) / 1000000 + 1));
    return true;
}

/* Maps a large file, so that pages come when they are read first, and are the session's own once it
   writes there. False if that cannot be, and the file is to be read. */
SAMBA__FN bool samba__map_file(samba_session *s, samba__file *file, int fd, struct stat *about)
{
    if (file->size < 1 << 20 || s->desc.no_map) return false;
    samba__stamp_file(file, about);
    if (!samba__wait_out_tick(file) || fstat(fd, about)) return false;
    samba__stamp_file(file, about);
    if ((uint64_t)about->st_size != file->size) return false;

    void *map = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) return false;

    file->bytes = (uint8_t *)map;
    file->fd = fd;
    file->mapped = true;
    file->kept = samba__file_kept;
    return true;
}

/* Opens and proves a PEF, which the caller closes. */
SAMBA__FN bool samba__read_file(samba_session *s, samba__file *file, bool all, const char *path)
{
    struct stat about;
    memset(file, 0, sizeof *file);
    int fd = samba__open_regular(s, path, &about);
    if (fd < 0) return false;

    file->size = (size_t)about.st_size;
    if ((uint64_t)about.st_size > SAMBA__NO_SIZE - SAMBA__ALIGN) {
        close(fd);
        return samba_fail(s, SAMBA_EPEF, "%s: the file is too large for this machine", path);
    }

    if (samba__map_file(s, file, fd, &about)) return samba__file_prove(s, file, all, path);

    file->bytes = (uint8_t *)samba__alloc(s, file->size);
    bool fine = file->bytes && samba__read_bytes(fd, file->bytes, file->size);
    if (!fine) {
        samba__fail_io(s, "read", path);
        samba__file_close(s, file, false);
    }
    close(fd);
    return fine && samba__file_prove(s, file, all, path);
}

/* A file next to the one it will replace, under a unique name. It stays locked while it is being
   written, which tells others that it is not a leftover. */
typedef struct samba__temporary {
    samba_session *session;
    char *name;
    size_t name_size;
    int fd; /* -1: none */
} samba__temporary;

/* "samba-<16 hex digits>.tmp" */
SAMBA__FN bool samba__is_temporary_name(const char *name)
{
    static const char prefix[] = "samba-";
    size_t n = sizeof prefix - 1;
    if (strncmp(name, prefix, n)) return false;
    for (size_t i = n; i < n + 16; i++) {
        bool digit = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
        if (!digit) return false;
    }
    return samba__same_text(name + n + 16, ".tmp");
}

/* Removes temporary files that killed programs left in the folder: nobody holds their locks.
   name begins with the folder, folder_size characters, and has room for a temporary name. */
SAMBA__FN void samba__sweep_temporaries(char *name, size_t name_size, size_t folder_size)
{
    char *base = name + folder_size;
    size_t room = name_size - folder_size;
    samba__print(base, room, "%s", folder_size ? "" : ".");
    DIR *folder = opendir(name);
    if (!folder) return;

    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (!samba__is_temporary_name(entry->d_name)) continue;
        samba__print(base, room, "%s", entry->d_name);
        int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) unlink(name);
        close(fd);
    }
    closedir(folder);
}

/* Removes the temporary file, unless it was renamed to its final name. */
SAMBA__FN void samba__temporary_close(samba__temporary *t, bool named)
{
    if (t->fd >= 0 && !named) unlink(t->name);
    if (t->fd >= 0) close(t->fd);
    t->fd = -1;
    samba__free(t->session, t->name, t->name_size);
}

/* Removes a temporary file of which nothing can be said; -1, with the errno of before. */
SAMBA__FN int samba__drop_temporary(int fd, const char *name)
{
    int reason = errno;
    unlink(name);
    close(fd);
    errno = reason;
    return -1;
}

/* Creates and locks a file under a new name. Another process may sweep it away between open and
   lock; it has no link then, and the next name is tried. */
SAMBA__FN int samba__create_temporary(char *base, size_t room, const char *name, mode_t mode)
{
    struct timeval now;
    struct stat about;
    for (uint64_t attempt = 0; attempt < 100; attempt++) {
        gettimeofday(&now, NULL);
        uint64_t key[4] = { (uint64_t)now.tv_sec, (uint64_t)now.tv_usec, (uint64_t)getpid(),
                            (uint64_t)(uintptr_t)base + attempt };
        uint64_t hash = samba__hash(key, sizeof key, 0);

        char hex[17];
        for (int i = 0; i < 16; i++)
            hex[i] = "0123456789abcdef"[hash >> 4 * i & 15];
        hex[16] = 0;
        samba__print(base, room, "samba-%s.tmp", hex);

        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR) return -1;
        if (fd < 0) continue;

        flock(fd, LOCK_EX); /* file systems without locks have no sweepers either */
        if (fstat(fd, &about)) return samba__drop_temporary(fd, name);
        if (about.st_nlink > 0) return fd;
        close(fd);
    }

    errno = EEXIST;
    return -1;
}

/* Opens a temporary file in the folder of path, which must be a regular file or none. */
SAMBA__FN bool samba__temporary_open(samba_session *s, samba__temporary *t, const char *path)
{
    enum { NAME = sizeof "samba-0123456789abcdef.tmp" };

    const char *slash = strrchr(path, '/');
    size_t folder_size = slash ? (size_t)(slash - path) + 1 : 0;
    struct stat about;
    t->session = s;
    t->fd = -1;
    t->name_size = folder_size + NAME;
    t->name = NULL;

    bool replaces = !stat(path, &about);
    if (!replaces && errno != ENOENT) return samba__fail_io(s, "write", path);
    if (replaces && !S_ISREG(about.st_mode))
        return samba_fail(s, SAMBA_EIO, "cannot write %s: what has this name is no regular file",
                          path);

    t->name = (char *)samba__alloc(s, t->name_size);
    if (!t->name) return false;
    memcpy(t->name, path, folder_size);
    samba__sweep_temporaries(t->name, t->name_size, folder_size);

    /* whoever may not read the old file may not read the new one */
    mode_t mode = replaces ? about.st_mode & 0666 : 0666;
    t->fd = samba__create_temporary(t->name + folder_size, NAME, t->name, mode | S_IWUSR);
    if (t->fd >= 0) return true;
    samba__fail_io(s, "write", path);
    samba__temporary_close(t, false);
    return false;
}

/* The directory entry has to reach the disk as well, or a power cut could bring the old file back.
   Who may write in a folder may still not read it: then that is left to the system. */
SAMBA__FN bool samba__sync_directory(samba_session *s, char *name, const char *path)
{
    char *slash = strrchr(name, '/');
    if (slash) slash[slash == name] = 0;

    int fd;
    do
        fd = open(slash ? name : ".", O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && errno == EACCES) return true;

    bool fine = fd >= 0 && samba__sync_file(fd);
    if (!fine) samba__fail_io(s, "flush the folder of", path);
    if (fd >= 0) close(fd);
    return fine;
}

SAMBA__FN bool samba__write_image(int fd, samba__image *m)
{
    size_t n;
    if (!samba__write_bytes(fd, m->tables, m->n_tables)) return false;
    while ((n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        if (!samba__write_bytes(fd, m->window, n)) return false;
    return samba__sync_file(fd);
}

/* Temporary file beside the target, sync, rename, sync of the directory. Pillai et al., "All file
   systems are not created equal", OSDI 2014. */
SAMBA__FN bool samba__replace_file(samba_session *s, const char *path, samba__image *m)
{
    samba__temporary t;
    if (!samba__temporary_open(s, &t, path)) return false;

    bool named = true;
    if (!samba__write_image(t.fd, m)) named = samba__fail_io(s, "write", path);
    if (named && rename(t.name, path)) named = samba__fail_io(s, "replace", path);
    bool fine = named && samba__sync_directory(s, t.name, path);
    samba__temporary_close(&t, named);
    return fine;
}

#elif !defined(SAMBA_NO_STDIO)
/* Opens and proves a PEF, which the caller closes. */
SAMBA__FN bool samba__read_file(samba_session *s, samba__file *file, bool all, const char *path)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    memset(file, 0, sizeof *file);

    bool fine = f && fgetc(f) != EOF && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0
        && !fseek(f, 0, SEEK_SET);
    if (f && feof(f)) samba_fail(s, SAMBA_EPEF, "%s: the file is empty", path);

    file->size = fine ? (size_t)n : 0;
    if (fine) file->bytes = (uint8_t *)samba__alloc(s, file->size);
    fine = file->bytes && fread(file->bytes, 1, file->size, f) == file->size;
    if (!fine) {
        samba__fail_io(s, "read", path);
        samba__file_close(s, file, false);
    }

    if (f) fclose(f);
    return fine && samba__file_prove(s, file, all, path);
}

SAMBA__FN bool samba__write_image(const char *path, samba__image *m)
{
    FILE *f = fopen(path, "wb");
    bool fine = f && fwrite(m->tables, 1, m->n_tables, f) == m->n_tables;
    size_t n;
    while (fine && (n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        fine = fwrite(m->window, 1, n, f) == n;
    return f && !fclose(f) && fine;
}

/* Writes a temporary file first: if the program dies on the way, one of the two files is whole. */
SAMBA__FN bool samba__replace_file(samba_session *s, const char *path, samba__image *m)
{
    size_t n = strlen(path) + 5;
    char *temporary = (char *)samba__alloc(s, n);
    if (!temporary) return false;
    samba__print(temporary, n, "%s.tmp", path);

    bool fine = true;
    if (!samba__write_image(temporary, m)) fine = samba__fail_io(s, "write", temporary);
    if (fine) remove(path); /* here, rename does not replace */
    if (fine && rename(temporary, path)) fine = samba__fail_io(s, "replace", path);
    if (!fine) remove(temporary);
    samba__free(s, temporary, n);
    return fine;
}
#endif

#if defined(SAMBA_NO_STDIO) /* programs live in memory only */
SAMBA__FN bool samba__no_files(samba_session *s, const char *path)
{
    return samba_fail(s, SAMBA_EIO, "%s: this build has no files (SAMBA_NO_STDIO)", path);
}

#define samba__read_file(s, file, all, path) ((void)(file), samba__no_files(s, path))
#define samba__replace_file(s, path, image) ((void)(image), samba__no_files(s, path))
#endif

