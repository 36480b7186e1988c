// SPDX-License-Identifier: Apache-2.0
//
// What Start.S has called before `main`. Separate, so that static libraries do
// not have it: the programs that they become a part of start by themselves.

#include <stddef.h>

typedef void Constructor(int, char **, char **);
extern Constructor *const __init_array_start[]
    __attribute__((visibility("hidden")));
extern Constructor *const __init_array_end[]
    __attribute__((visibility("hidden")));
void _init(void);

/// Runs the program's constructors.
__attribute__((visibility("hidden"))) void
ingot_run_constructors(int count, char **arguments, char **environment) {
  _init();
  size_t constructors = (size_t)(__init_array_end - __init_array_start);
  for (size_t i = 0; i < constructors; ++i)
    __init_array_start[i](count, arguments, environment);
}
