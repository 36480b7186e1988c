// SPDX-License-Identifier: Apache-2.0
/*
 * reload LIBRARY NAME_model FOLDER TIMES: loads a library, trains a step and
 * unloads it, again and again.
 */

#define _GNU_SOURCE
#include <dlfcn.h>

/* Calls go to what is loaded at the time. */
#include "ingot.h"

static void *library;
static const char *getError(void) {
  const char *(*get)(void) = (const char *(*)(void))(
      __extension__(const void *) dlsym(library, "ingot_last_error"));
  return get ? get() : "";
}
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))
#define ingot_last_error() getError()
#define ingot_count(...) CALL(ingot_count)(__VA_ARGS__)
#define ingot_describe(...) CALL(ingot_describe)(__VA_ARGS__)
#define ingot_step(...) CALL(ingot_step)(__VA_ARGS__)
#include "Support.h"

static int isMapped(const char *name) {
  char line[4096];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof(line), maps))
    found |= strstr(line, name) != NULL;
  fclose(maps);
  return found;
}

int main(int argc, char **argv) {
  double first = 0;
  size_t files = countEntries("/proc/self/fd");
  if (argc < 5)
    return 2;
  for (int i = 0; i < atoi(argv[4]); ++i) {
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const ingot_model *(*model)(void) =
        (const ingot_model *(*)(void))dlsym(library, argv[2]);
    ingot_session *session = NULL;
    CHECK(model);
    CHECK(CALL(ingot_open)(model(), NULL, &session) == INGOT_OK);
    Batches batches = readBatches(session, argv[3]);
    double loss = train(session, &batches, 0);
    CHECK(CALL(ingot_step)(session, NULL, 0, NULL, 0) == INGOT_USAGE);
    CHECK(i == 0 || loss == first);
    first = loss;
    CHECK(CALL(ingot_close)(session) == INGOT_OK);
    freeBatches(&batches);
    dlclose(library);
    if (isMapped(argv[1])) {
      fprintf(stderr, "the library is still there\n");
      return 1;
    }
    if (countEntries("/proc/self/task") != 3 ||
        countEntries("/proc/self/fd") != files) {
      fprintf(stderr, "threads or files are left\n");
      return 1;
    }
  }
  return 0;
}
