// SPDX-License-Identifier: Apache-2.0
/*
 * Personalizes a model on a device: the digits example, as it came with the
 * program, learns the handwriting of one person from a few dozen samples. The
 * program needs libdigits.so and the C library, and nothing else.
 *
 *   personalize FOLDER
 *
 * Checkpoints and the personal model go to FOLDER. A second start goes on where
 * the first one ended.
 */

#include "digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 10, SAMPLES = 64, ROUNDS = 30, SAVE_EVERY = 10 };

/* Ends the program unless a call was successful. */
static void check(ingot_status status) {
  if (status == INGOT_OK)
    return;
  fprintf(stderr, "personalize: %s\n", ingot_last_error());
  exit((int)status);
}

/* What the library has to say goes where the program wants it. */
static void logLine(void *data, const char *line) {
  (void)data;
  fprintf(stderr, "ingot: %s\n", line);
}

/* ---- Samples --------------------------------------------------------------*/

/* What the device has collected: images with the digits that were meant. */
typedef struct Samples {
  float images[SAMPLES][DIGITS_IMAGE_ELEMENTS];
  int64_t digits[SAMPLES];
} Samples;

/* The strokes of each digit on a grid of 8 x 8 pixels, a row per line. */
static const char *const shapes[CLASSES][8] = {
    {"  ####  ", " #    # ", " #    # ", " #    # ", " #    # ", " #    # ",
     " #    # ", "  ####  "},
    {"   ##   ", "  ###   ", " # ##   ", "   ##   ", "   ##   ", "   ##   ",
     "   ##   ", " ###### "},
    {"  ####  ", " #    # ", "      # ", "     #  ", "    #   ", "   #    ",
     "  #     ", " ###### "},
    {"  ####  ", " #    # ", "      # ", "   ###  ", "      # ", "      # ",
     " #    # ", "  ####  "},
    {"     #  ", "    ##  ", "   # #  ", "  #  #  ", " ###### ", "     #  ",
     "     #  ", "     #  "},
    {" ###### ", " #      ", " #      ", " #####  ", "      # ", "      # ",
     " #    # ", "  ####  "},
    {"   ###  ", "  #     ", " #      ", " #####  ", " #    # ", " #    # ",
     " #    # ", "  ####  "},
    {" ###### ", "      # ", "     #  ", "     #  ", "    #   ", "    #   ",
     "   #    ", "   #    "},
    {"  ####  ", " #    # ", " #    # ", "  ####  ", " #    # ", " #    # ",
     " #    # ", "  ####  "},
    {"  ####  ", " #    # ", " #    # ", "  ##### ", "      # ", "      # ",
     "     #  ", "  ###   "}};

static float drawUniform(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 8) / (float)(1 << 24);
}

/* Stands in for the device's input: one person's way to write digits. */
static void collect(Samples *samples, uint32_t seed) {
  for (int i = 0; i < SAMPLES; ++i) {
    int digit = i % CLASSES;
    samples->digits[i] = digit;
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 8; ++column) {
        int isInk = shapes[digit][row][column] == '#';
        float ink = isInk ? 0.6f + 0.4f * drawUniform(&seed)
                          : 0.2f * drawUniform(&seed);
        samples->images[i][8 * row + column] = ink;
      }
  }
}

/* ---- What the session does ------------------------------------------------*/

/* The part of the samples that the model recognizes. */
static double measure(ingot_session *session, const Samples *samples) {
  int right = 0;
  for (int first = 0; first < SAMPLES; first += DIGITS_BATCH) {
    float logits[DIGITS_BATCH][CLASSES];
    int count = SAMPLES - first < DIGITS_BATCH ? SAMPLES - first : DIGITS_BATCH;
    check(digits_predict(session, samples->images[first], (size_t)count,
                         logits[0]));
    for (int i = 0; i < count; ++i) {
      int best = 0;
      for (int k = 1; k < CLASSES; ++k)
        if (logits[i][k] > logits[i][best])
          best = k;
      right += best == samples->digits[first + i];
    }
  }
  return (double)right / SAMPLES;
}

/* The loss of samples that the model has not trained on. */
static double evaluate(ingot_session *session, const Samples *samples) {
  double loss = 0, count = 0;
  for (int first = 0; first + DIGITS_BATCH <= SAMPLES; first += DIGITS_BATCH) {
    double sums[DIGITS_EVALUATE_RESULTS];
    check(digits_evaluate(session, samples->images[first],
                          &samples->digits[first], DIGITS_BATCH, sums));
    loss += sums[DIGITS_EVALUATE_RESULT_LOSS_SUM];
    count += sums[DIGITS_EVALUATE_RESULT_LOSS_COUNT];
  }
  return loss / count;
}

/* Trains on all samples once. */
static double train(ingot_session *session, const Samples *samples) {
  double sum = 0;
  int steps = 0;
  for (int first = 0; first + DIGITS_BATCH <= SAMPLES; first += DIGITS_BATCH) {
    double results[DIGITS_STEP_RESULTS];
    check(digits_step(session, samples->images[first], &samples->digits[first],
                      results));
    sum += results[DIGITS_STEP_RESULT_LOSS];
    ++steps;
  }
  return sum / steps;
}

/* Goes on with what an earlier start has saved, if there is anything. */
static void goOn(ingot_session *session, const char *checkpoints) {
  char latest[4096];
  snprintf(latest, sizeof(latest), "%s/latest", checkpoints);
  FILE *file = fopen(latest, "r");
  if (!file)
    return;
  fclose(file);
  check(ingot_resume(session, checkpoints));
}

int main(int argc, char **argv) {
  static Samples own, others;
  char checkpoints[2048], model[2048];
  ingot_options options = ingot_default_options();
  ingot_session *session = NULL;
  ingot_statistics statistics = {sizeof(statistics), 0, 0, 0, 0, 0};
  if (argc != 2) {
    fprintf(stderr, "usage: personalize FOLDER\n");
    return 2;
  }
  snprintf(checkpoints, sizeof(checkpoints), "%s/checkpoints", argv[1]);
  snprintf(model, sizeof(model), "%s/personal.onnx", argv[1]);
  collect(&own, 1);
  collect(&others, 2);

  /* One thread beside the program's own work. */
  options.threads = 1;
  options.log = logLine;
  check(ingot_open(digits_model(), &options, &session));
  goOn(session, checkpoints);
  /* A tenth of the usual rate: the model knows most of it already. */
  check(ingot_set_hyperparameter(session, DIGITS_LR, 1e-3));
  check(ingot_get_statistics(session, &statistics));
  printf("%zu KiB for parameters and optimizer, %zu KiB for a step\n",
         statistics.state_bytes >> 10, statistics.arena_bytes >> 10);
  printf("step %3lld: recognizes %.0f %%\n", (long long)statistics.steps,
         100 * measure(session, &others));

  for (int round = 1; round <= ROUNDS; ++round) {
    double loss = train(session, &own);
    if (round % SAVE_EVERY)
      continue;
    check(ingot_save(session, checkpoints, 2));
    check(ingot_get_statistics(session, &statistics));
    printf("step %3lld: loss %.4f, %.4f of others, recognizes %.0f %%\n",
           (long long)statistics.steps, loss, evaluate(session, &others),
           100 * measure(session, &others));
  }
  check(ingot_export(session, model));
  printf("the personal model: %s\n", model);
  double right = measure(session, &others);
  check(ingot_close(session));
  return right > 0.95 ? 0 : 1;
}
