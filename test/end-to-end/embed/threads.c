// SPDX-License-Identifier: Apache-2.0
/*
 * threads FOLDER STEPS: sessions in two threads, and two threads in a session.
 * Prints the losses of both sessions, and of one with other threads.
 */

#include "Support.h"

#include <pthread.h>

const ingot_model *MODEL(void);
#ifdef OTHER
const ingot_model *OTHER(void);
#endif

typedef struct Run {
  const ingot_model *model;
  const char *folder;
  size_t steps;
  double losses[100];
} Run;

static void *run(void *data) {
  Run *own = data;
  ingot_session *session = NULL;
  CHECK(ingot_open(own->model, NULL, &session) == INGOT_OK);
  Batches batches = readBatches(session, own->folder);
  for (size_t i = 0; i < own->steps; ++i)
    own->losses[i] = train(session, &batches, i);
  CHECK(ingot_close(session) == INGOT_OK);
  freeBatches(&batches);
  return NULL;
}

/* ---- Two threads in a session ---------------------------------------------*/

static ingot_session *shared;
static Batches sharedBatches;
static int refused, done;

static void *use(void *data) {
  ingot_input inputs[MOST_INPUTS];
  (void)data;
  for (size_t i = 0; i < 10000 && !__atomic_load_n(&refused, __ATOMIC_SEQ_CST);
       ++i) {
    point(&sharedBatches, i, inputs);
    ingot_status status =
        ingot_step(shared, inputs, sharedBatches.inputs, NULL, 0);
    if (status == INGOT_USAGE) {
      CHECK(strstr(ingot_last_error(), "another thread"));
      __atomic_store_n(&refused, 1, __ATOMIC_SEQ_CST);
    } else {
      CHECK(status == INGOT_OK);
      __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  static Run runs[2];
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  for (int i = 0; i < 2; ++i) {
    runs[i].model = MODEL();
    runs[i].folder = argv[1];
    runs[i].steps = (size_t)atoi(argv[2]);
  }
#ifdef OTHER
  runs[1].model = OTHER();
  runs[1].folder = argv[3];
#endif
  for (int i = 0; i < 2; ++i)
    CHECK(pthread_create(&threads[i], NULL, run, &runs[i]) == 0);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i)
    for (size_t k = 0; k < runs[i].steps; ++k)
      printf("%.9g\n", runs[i].losses[k]);

  CHECK(ingot_open(MODEL(), NULL, &shared) == INGOT_OK);
  sharedBatches = readBatches(shared, argv[1]);
  for (int i = 0; i < 2; ++i)
    CHECK(pthread_create(&threads[i], NULL, use, NULL) == 0);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  CHECK(refused && done > 0);
  train(shared, &sharedBatches, 0);
  CHECK(ingot_close(shared) == INGOT_OK);
  freeBatches(&sharedBatches);
  return 0;
}
