// SPDX-License-Identifier: Apache-2.0

// Prints what GCC's OpenMP library makes of the environment: threads, their
// limit, whether regions may be parallel, processors, and places.

#include <cstdio>
#include <vector>

// What its <omp.h> declares, which Clang does not have.
extern "C" {
int omp_get_max_threads(void);
int omp_get_thread_limit(void);
int omp_get_max_active_levels(void);
int omp_get_num_places(void);
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int *ids);
}

int main() {
  std::printf("%d %d %d", omp_get_max_threads(), omp_get_thread_limit(),
              omp_get_max_active_levels() > 0);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    std::printf(" ");
    for (int id : ids)
      std::printf("%d,", id);
  }
  std::printf("\n");
  return 0;
}
