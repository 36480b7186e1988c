// SPDX-License-Identifier: Apache-2.0
/*
 * What the programs share that use a library of any model: batches from files,
 * and checks that end the program. MODEL is the function that returns the
 * model.
 */

#ifndef INGOT_TEST_EMBED_SUPPORT_H
#define INGOT_TEST_EMBED_SUPPORT_H

#include "ingot.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,       \
              ingot_last_error());                                             \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/** Counts what is in a folder, such as the threads of a process in /proc. */
static inline size_t countEntries(const char *folder) {
  size_t count = 0;
  DIR *entries = opendir(folder);
  CHECK(entries);
  while (readdir(entries))
    ++count;
  closedir(entries);
  return count;
}

enum { MOST_INPUTS = 8 };

/** The batches of all inputs of a step, one after the other. */
typedef struct Batches {
  size_t count, inputs;
  size_t bytes[MOST_INPUTS];
  char *data[MOST_INPUTS];
} Batches;

/** Reads the inputs of a step from FOLDER/0.bin, 1.bin and so on. */
static Batches readBatches(ingot_session *session, const char *folder) {
  Batches batches = {0, 0, {0}, {NULL}};
  batches.inputs = ingot_count(session, INGOT_STEP_INPUTS);
  CHECK(batches.inputs > 0 && batches.inputs <= MOST_INPUTS);
  for (size_t i = 0; i < batches.inputs; ++i) {
    ingot_tensor input;
    char path[4096];
    CHECK(ingot_describe(session, INGOT_STEP_INPUTS, i, &input) == INGOT_OK);
    snprintf(path, sizeof(path), "%s/%zu.bin", folder, i);
    FILE *file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    batches.bytes[i] = input.bytes;
    batches.data[i] = (char *)malloc(size);
    CHECK(fread(batches.data[i], 1, size, file) == size);
    CHECK(size >= input.bytes);
    batches.count = size / input.bytes;
    fclose(file);
  }
  return batches;
}

static void freeBatches(Batches *batches) {
  for (size_t i = 0; i < batches->inputs; ++i)
    free(batches->data[i]);
}

/** Makes the inputs of a step point to a batch. */
static void point(const Batches *batches, size_t number, ingot_input *inputs) {
  for (size_t i = 0; i < batches->inputs; ++i) {
    inputs[i].bytes = batches->bytes[i];
    inputs[i].data =
        batches->data[i] + number % batches->count * batches->bytes[i];
  }
}

/** Trains a step and returns its loss. */
static double train(ingot_session *session, const Batches *batches,
                    size_t number) {
  ingot_input inputs[MOST_INPUTS];
  double loss = 0;
  point(batches, number, inputs);
  CHECK(ingot_step(session, inputs, batches->inputs, &loss, 1) == INGOT_OK);
  return loss;
}

#endif
