// SPDX-License-Identifier: Apache-2.0
/*
 * hostile FOLDER EMPTY: calls that are wrong return an error with a text, and
 * change nothing. EMPTY is a folder to write into.
 */

#include "Support.h"

#include <math.h>

const ingot_model *MODEL(void);

/** The call returns `wanted`, and has a text with `words`. */
#define REFUSED(call, wanted, words)                                           \
  do {                                                                         \
    ingot_status status_ = (call);                                             \
    if (status_ != (wanted) || !strstr(ingot_last_error(), words)) {           \
      fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call,        \
              (int)status_, ingot_last_error());                               \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static void refuseNull(ingot_session *session) {
  ingot_session *none = NULL;
  double number = 0;
  void *address = NULL;
  ingot_tensor tensor;
  REFUSED(ingot_open(NULL, NULL, &none), INGOT_USAGE, "model");
  REFUSED(ingot_open(MODEL(), NULL, NULL), INGOT_USAGE, "session");
  CHECK(ingot_close(NULL) == INGOT_OK);
  REFUSED(ingot_step(NULL, NULL, 0, NULL, 0), INGOT_USAGE, "null");
  CHECK(ingot_count(NULL, INGOT_STATES) == 0);
  REFUSED(ingot_describe(session, INGOT_STATES, 0, NULL), INGOT_USAGE, "null");
  REFUSED(ingot_step(session, NULL, 2, NULL, 0), INGOT_USAGE, "null");
  REFUSED(ingot_get_hyperparameter(session, NULL, &number), INGOT_USAGE,
          "name");
  REFUSED(ingot_get_hyperparameter(session, "lr", NULL), INGOT_USAGE, "value");
  REFUSED(ingot_set_hyperparameter(session, NULL, 1), INGOT_USAGE, "name");
  REFUSED(ingot_get_state(session, NULL, INGOT_TYPE_F32, &number, 8),
          INGOT_USAGE, "name");
  REFUSED(ingot_save(session, NULL, 0), INGOT_USAGE, "folder");
  REFUSED(ingot_resume(session, NULL), INGOT_USAGE, "path");
  REFUSED(ingot_load(session, NULL), INGOT_USAGE, "path");
  REFUSED(ingot_export(session, NULL), INGOT_USAGE, "path");
  REFUSED(ingot_get_statistics(session, NULL), INGOT_USAGE, "statistics");
  REFUSED(ingot_input_address(session, INGOT_STEP_INPUTS, 0, NULL), INGOT_USAGE,
          "address");
  REFUSED(ingot_input_address(session, INGOT_STATES, 0, &address), INGOT_USAGE,
          "list");
  REFUSED(ingot_input_address(session, INGOT_STEP_INPUTS, 99, &address),
          INGOT_USAGE, "index");
  REFUSED(ingot_describe(session, (ingot_list)99, 0, &tensor), INGOT_USAGE,
          "entries");
  REFUSED(ingot_select_shape(session, 1), INGOT_USAGE, "shape");
}

static void refuseInputs(ingot_session *session, const Batches *batches) {
  ingot_input inputs[MOST_INPUTS + 1];
  double results[64];
  memset(inputs, 0, sizeof(inputs));
  point(batches, 0, inputs);
  size_t count = batches->inputs;
  REFUSED(ingot_step(session, inputs, count - 1, NULL, 0), INGOT_USAGE,
          "inputs");
  REFUSED(ingot_step(session, inputs, count + 1, NULL, 0), INGOT_USAGE,
          "inputs");
  REFUSED(ingot_step(session, inputs, count, results, 64), INGOT_USAGE,
          "results");
  REFUSED(ingot_step(session, inputs, count, NULL, 1), INGOT_USAGE, "null");
  for (size_t i = 0; i < count; ++i) {
    point(batches, 0, inputs);
    inputs[i].bytes -= 1;
    REFUSED(ingot_step(session, inputs, count, NULL, 0), INGOT_USAGE, "bytes");
    point(batches, 0, inputs);
    inputs[i].data = NULL;
    REFUSED(ingot_step(session, inputs, count, NULL, 0), INGOT_USAGE, "null");
  }
  // The last input are labels, which index classes.
  int64_t label = 1 << 20;
  char *labels = malloc(batches->bytes[count - 1]);
  memcpy(labels, batches->data[count - 1], batches->bytes[count - 1]);
  for (int i = 0; i < 2; ++i, label = -1) {
    memcpy(labels, &label, sizeof(label));
    point(batches, 0, inputs);
    inputs[count - 1].data = labels;
    REFUSED(ingot_step(session, inputs, count, NULL, 0), INGOT_BAD_INPUT,
            "outside");
    REFUSED(ingot_evaluate(session, inputs, count,
                           (size_t)batches->bytes[count - 1] / sizeof(label),
                           NULL, 0),
            INGOT_BAD_INPUT, "outside");
  }
  free(labels);
  point(batches, 0, inputs);
  REFUSED(ingot_evaluate(session, inputs, count, 0, NULL, 0), INGOT_USAGE,
          "samples");
  REFUSED(ingot_evaluate(session, inputs, count, (size_t)-1, NULL, 0),
          INGOT_USAGE, "samples");
  REFUSED(ingot_evaluate(session, inputs, count, 1, NULL, 0), INGOT_USAGE,
          "bytes");
  REFUSED(ingot_predict(session, inputs, 1, 1, NULL, 0), INGOT_USAGE,
          "outputs");
}

static void refuseValues(ingot_session *session) {
  ingot_tensor state;
  char data[64] = {0};
  double number = 0;
  CHECK(ingot_describe(session, INGOT_STATES, 0, &state) == INGOT_OK);
  REFUSED(ingot_get_state(session, "no such state", INGOT_TYPE_F32, data, 4),
          INGOT_USAGE, "no such state");
  REFUSED(ingot_get_state(session, state.name, INGOT_TYPE_F32, data, 1),
          INGOT_USAGE, "bytes");
  REFUSED(
      ingot_set_state(session, state.name, INGOT_TYPE_F32, data, (size_t)-1),
      INGOT_USAGE, "bytes");
  REFUSED(ingot_get_state(session, state.name, (ingot_type)99, data, 1),
          INGOT_USAGE, "type");
  REFUSED(ingot_get_state(session, state.name, (ingot_type)-1, data, 1),
          INGOT_USAGE, "type");
  REFUSED(ingot_get_hyperparameter(session, "speed", &number), INGOT_USAGE,
          "speed");
  REFUSED(ingot_set_hyperparameter(session, "speed", 1), INGOT_USAGE, "speed");
  CHECK(ingot_get_hyperparameter(session, "lr", &number) == INGOT_OK);
  REFUSED(ingot_set_hyperparameter(session, "lr", -1), INGOT_USAGE, "lr");
  REFUSED(ingot_set_hyperparameter(session, "lr", NAN), INGOT_USAGE, "lr");
  REFUSED(ingot_set_hyperparameter(session, "lr", INFINITY), INGOT_USAGE, "lr");
}

static void refuseFiles(ingot_session *session, const char *folder) {
  char path[4096], wrong[4096];
  snprintf(path, sizeof(path), "%s/none", folder);
  REFUSED(ingot_resume(session, path), INGOT_BAD_INPUT, "checkpoint");
  REFUSED(ingot_load(session, path), INGOT_BAD_INPUT, "none");
  snprintf(wrong, sizeof(wrong), "%s/wrong.safetensors", folder);
  FILE *file = fopen(wrong, "wb");
  CHECK(file && fputs("this is none", file) >= 0 && fclose(file) == 0);
  REFUSED(ingot_load(session, wrong), INGOT_BAD_INPUT, "wrong");
  REFUSED(ingot_resume(session, wrong), INGOT_BAD_INPUT, "wrong");
  REFUSED(ingot_save(session, wrong, 0), INGOT_FAILED, "wrong");
  REFUSED(ingot_save(session, path, -1), INGOT_USAGE, "keep");
  REFUSED(ingot_export(session, folder), INGOT_FAILED, folder);
  REFUSED(ingot_export(session, ""), INGOT_FAILED, "");
}

static void refuseOptions(void) {
  ingot_options options = ingot_default_options();
  ingot_session *session = NULL;
  options.size = 0;
  REFUSED(ingot_open(MODEL(), &options, &session), INGOT_USAGE, "size");
  options.size = (size_t)-1;
  REFUSED(ingot_open(MODEL(), &options, &session), INGOT_USAGE, "size");
  options = ingot_default_options();
  options.threads = -1;
  REFUSED(ingot_open(MODEL(), &options, &session), INGOT_USAGE, "threads");
  options = ingot_default_options();
  options.flags = ~0u;
  REFUSED(ingot_open(MODEL(), &options, &session), INGOT_USAGE, "flags");
  options = ingot_default_options();
  options.weights = "/no/such/file";
  REFUSED(ingot_open(MODEL(), &options, &session), INGOT_BAD_INPUT,
          "/no/such/file");
  CHECK(!session);
}

int main(int argc, char **argv) {
  ingot_session *session = NULL, *other = NULL;
  ingot_input inputs[MOST_INPUTS];
  ingot_statistics statistics;
  if (argc < 3)
    return 2;
  refuseOptions();
  CHECK(ingot_open(MODEL(), NULL, &session) == INGOT_OK);
  CHECK(ingot_open(MODEL(), NULL, &other) == INGOT_OK);
  Batches batches = readBatches(session, argv[1]);
  refuseNull(session);
  refuseInputs(session, &batches);
  refuseValues(session);
  refuseFiles(session, argv[2]);
  // Nothing of it has left a trace.
  for (size_t i = 0; i < 3; ++i)
    CHECK(train(session, &batches, i) == train(other, &batches, i));
  CHECK(ingot_close(other) == INGOT_OK);
  CHECK(ingot_close(session) == INGOT_OK);
  point(&batches, 0, inputs);
  statistics.size = sizeof(statistics);
  REFUSED(ingot_step(session, inputs, batches.inputs, NULL, 0), INGOT_USAGE,
          "closed");
  REFUSED(ingot_close(session), INGOT_USAGE, "closed");
  REFUSED(ingot_get_statistics(session, &statistics), INGOT_USAGE, "closed");
  CHECK(ingot_count(session, INGOT_STATES) == 0);
  freeBatches(&batches);
  return 0;
}
