// SPDX-License-Identifier: Apache-2.0
/*
 * losses FOLDER STEPS EXPORT [SAVED [RESUMED]]: trains on batches of the
 * folder, prints each loss, exports the model, and saves a checkpoint; or
 * resumes one first. Every second step fills its inputs in place.
 */

#include "Support.h"

const ingot_model *MODEL(void);

static double trainInPlace(ingot_session *session, const Batches *batches,
                           size_t number) {
  ingot_input given[MOST_INPUTS], none[MOST_INPUTS];
  double loss = 0;
  point(batches, number, given);
  for (size_t i = 0; i < batches->inputs; ++i) {
    void *address = NULL;
    if (ingot_input_address(session, INGOT_STEP_INPUTS, i, &address) !=
        INGOT_OK)
      return train(session, batches, number);
    memcpy(address, given[i].data, given[i].bytes);
    none[i].data = NULL;
    none[i].bytes = 0;
  }
  CHECK(ingot_step(session, none, batches->inputs, &loss, 1) == INGOT_OK);
  return loss;
}

static void printLine(void *data, const char *line) {
  (void)data;
  fprintf(stderr, "log: %s\n", line);
}

int main(int argc, char **argv) {
  ingot_options options = ingot_default_options();
  ingot_session *session = NULL;
  ingot_statistics statistics;
  if (argc < 4)
    return 2;
  options.log = printLine;
  CHECK(ingot_open(MODEL(), &options, &session) == INGOT_OK);
  if (argc > 5)
    CHECK(ingot_resume(session, argv[5]) == INGOT_OK);
  statistics.size = sizeof(statistics);
  CHECK(ingot_get_statistics(session, &statistics) == INGOT_OK);
  Batches batches = readBatches(session, argv[1]);
  size_t first = (size_t)statistics.steps, steps = (size_t)atoi(argv[2]);
  for (size_t i = first; i < first + steps; ++i) {
    double loss = i % 2 ? trainInPlace(session, &batches, i)
                        : train(session, &batches, i);
    printf("%.9g\n", loss);
  }
  CHECK(ingot_export(session, argv[3]) == INGOT_OK);
  if (argc > 4)
    CHECK(ingot_save(session, argv[4], 0) == INGOT_OK);
  CHECK(ingot_get_statistics(session, &statistics) == INGOT_OK);
  printf("state %zu arena %zu steps %lld\n", statistics.state_bytes,
         statistics.arena_bytes, (long long)statistics.steps);
  CHECK(ingot_close(session) == INGOT_OK);
  freeBatches(&batches);
  return 0;
}
