// SPDX-License-Identifier: Apache-2.0
/*
 * manners FOLDER TIMES: what a library does to the process that it is in.
 */

#define _GNU_SOURCE
#include "Support.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const ingot_model *MODEL(void);

/* ---- Calls of malloc, counted ---------------------------------------------*/

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static volatile long allocations;

void *malloc(size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return *memory ? 0 : 12;
}

/* ---- The process ----------------------------------------------------------*/

typedef struct Process {
  struct sigaction actions[65];
  sigset_t mask;
  char locale[256], folder[1024], environment[65536];
  mode_t mode;
} Process;

extern char **environ;

static void look(Process *process) {
  memset(process, 0, sizeof(*process));
  for (int i = 1; i < 65; ++i)
    sigaction(i, NULL, &process->actions[i]);
  pthread_sigmask(SIG_SETMASK, NULL, &process->mask);
  strncpy(process->locale, setlocale(LC_ALL, NULL), 255);
  CHECK(getcwd(process->folder, sizeof(process->folder)));
  process->mode = umask(0);
  umask(process->mode);
  size_t at = 0;
  for (char **entry = environ; *entry; ++entry)
    at += (size_t)snprintf(process->environment + at,
                           sizeof(process->environment) - at, "%p=%s\n",
                           (void *)*entry, *entry);
}

static void compare(const Process *a, const Process *b) {
  for (int i = 1; i < 65; ++i)
    CHECK(a->actions[i].sa_handler == b->actions[i].sa_handler &&
          a->actions[i].sa_flags == b->actions[i].sa_flags);
  for (int i = 1; i < 65; ++i)
    CHECK(sigismember(&a->mask, i) == sigismember(&b->mask, i));
  CHECK(!strcmp(a->locale, b->locale) && !strcmp(a->folder, b->folder));
  CHECK(!strcmp(a->environment, b->environment) && a->mode == b->mode);
}

static size_t readPages(void) {
  size_t size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%zu %zu", &size, &resident) == 2);
  fclose(file);
  return resident;
}

static long steps(ingot_session *session, const Batches *batches) {
  train(session, batches, 0);
  long before = allocations;
  for (size_t i = 1; i < 6; ++i)
    train(session, batches, i);
  return allocations - before;
}

/* ---- Fork -----------------------------------------------------------------*/

/** The child's next loss is the parent's. */
static void fork_(ingot_session *session, const Batches *batches) {
  int ends[2], status = 0;
  double theirs = 0, ours = 0;
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    double loss = train(session, batches, 7);
    CHECK(ingot_close(session) == INGOT_OK);
    ingot_session *another = NULL;
    CHECK(ingot_open(MODEL(), NULL, &another) == INGOT_OK);
    train(another, batches, 0);
    CHECK(ingot_close(another) == INGOT_OK);
    CHECK(write(ends[1], &loss, sizeof(loss)) == sizeof(loss));
    _exit(0);
  }
  ours = train(session, batches, 7);
  CHECK(read(ends[0], &theirs, sizeof(theirs)) == sizeof(theirs));
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(ours == theirs);
  close(ends[0]);
  close(ends[1]);
}

/* ---- Memory of the caller -------------------------------------------------*/

static size_t held, most;

static void *allocate(void *data, size_t bytes) {
  CHECK(data == &held);
  held += bytes;
  most = held > most ? held : most;
  void *memory = aligned_alloc(4096, bytes);
  memset(memory, 0xA5, bytes);
  return memory;
}
static void release(void *data, void *memory, size_t bytes) {
  CHECK(data == &held);
  held -= bytes;
  free(memory);
}

static void useAllocator(const Batches *batches, double first) {
  ingot_options options = ingot_default_options();
  ingot_session *session = NULL;
  ingot_statistics statistics;
  options.allocator.allocate = allocate;
  options.allocator.release = release;
  options.allocator.data = &held;
  CHECK(ingot_open(MODEL(), &options, &session) == INGOT_OK);
  CHECK(train(session, batches, 0) == first);
  statistics.size = sizeof(statistics);
  CHECK(ingot_get_statistics(session, &statistics) == INGOT_OK);
  CHECK(most >= statistics.state_bytes + statistics.arena_bytes);
  CHECK(ingot_close(session) == INGOT_OK);
  CHECK(held == 0);
}

int main(int argc, char **argv) {
  static Process before, after;
  if (argc < 3)
    return 2;
  int times = atoi(argv[2]);
  setlocale(LC_ALL, "C.UTF-8");
  ingot_session *session = NULL;
  CHECK(ingot_open(MODEL(), NULL, &session) == INGOT_OK);
  Batches batches = readBatches(session, argv[1]);
  double first = train(session, &batches, 0);
  CHECK(ingot_close(session) == INGOT_OK);

  look(&before);
  size_t files = countEntries("/proc/self/fd");
  CHECK(countEntries("/proc/self/task") == 3);
  size_t pages = 0;
  for (int i = 0; i < times; ++i) {
    CHECK(ingot_open(MODEL(), NULL, &session) == INGOT_OK);
    CHECK(train(session, &batches, 0) == first);
    CHECK(ingot_close(session) == INGOT_OK);
    if (i == times / 2)
      pages = readPages();
  }
  size_t more = readPages() - pages;
  CHECK((long)more < 64);
  CHECK(countEntries("/proc/self/fd") == files);
  CHECK(countEntries("/proc/self/task") == 3);
  look(&after);
  compare(&before, &after);

  CHECK(ingot_open(MODEL(), NULL, &session) == INGOT_OK);
  // A thread that joins in late brings tables of its own, once.
  long allocated = 1;
  for (int i = 0; i < 40 && allocated; ++i)
    allocated = steps(session, &batches);
  CHECK(allocated == 0);
  CHECK(ingot_export(session, "/dev/full/none") != INGOT_OK);
  fork_(session, &batches);
  train(session, &batches, 8);
  CHECK(ingot_close(session) == INGOT_OK);
  useAllocator(&batches, first);
  look(&after);
  compare(&before, &after);
  freeBatches(&batches);
  return 0;
}
