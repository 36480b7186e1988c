//===----------------------------------------------------------------------===//
//
// Stand-ins for CUDA's libraries: they write down what is asked of them and
// check that objects live, but compute nothing. Tests of the order of calls, of
// lifetimes and of errors; no number that comes from them means anything.
//
// Environment:
//   INGOT_STAND_IN_LOG     the file to append one line per call to
//   INGOT_STAND_IN_GPUS    how many there are (1)
//   INGOT_STAND_IN_ARCH    the GPU's compute capability (90)
//   INGOT_STAND_IN_MEMORY  bytes of the GPU (1 GiB)
//   INGOT_STAND_IN_MULTIPROCESSORS  of the GPU (132)
//   INGOT_STAND_IN_VERSION of the driver (13000)
//   INGOT_STAND_IN_FAIL    the function that fails
//   INGOT_STAND_IN_NAN     the graph launch after which all values are NaN
//   INGOT_STAND_IN_NO_EPILOGUES  products have none: 1 when algorithms are
//                          asked for, 2 when one runs (0)
//   INGOT_STAND_IN_TENSOR_CORES  the first engine for a convolution computes
//                          the same bits every time, on tensor cores (0)
//   INGOT_STAND_IN_TIMES   digits: milliseconds between events, in turn
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_CUDA_STANDINS_H
#define INGOT_TEST_RUNTIME_CUDA_STANDINS_H

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace standin {

/// Writes a line, and says whether the test wants this call to fail. Headers
/// add versions to names, as in cuMemAlloc_v2: they are left out.
inline bool record(const char *symbol, const char *format = "", ...) {
  std::string name(symbol, std::strcspn(symbol, "_"));
  const char *function = name.c_str();
  const char *path = std::getenv("INGOT_STAND_IN_LOG");
  if (std::FILE *file = path ? std::fopen(path, "a") : nullptr) {
    std::fprintf(file, "%s", function);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(file, format, arguments);
    va_end(arguments);
    std::fprintf(file, "\n");
    std::fclose(file);
  }
  const char *failing = std::getenv("INGOT_STAND_IN_FAIL");
  return failing && std::strcmp(failing, function) == 0;
}

inline long getSetting(const char *name, long standard) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : standard;
}

} // namespace standin

#endif // INGOT_TEST_RUNTIME_CUDA_STANDINS_H
