// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fakes of CUDA's libraries: they record every call, and check that objects
// live and what the documentation demands. With INGOT_FAKE_COMPUTE they are a
// GPU in software (tools/software-gpu), which runs a trainer's PTX and computes
// what the libraries do; without, no number that comes from them means
// anything, and they test the order of calls, lifetimes and errors.
//
// Environment:
//   INGOT_FAKE_LOG              the file to append one line per call to
//   INGOT_FAKE_GPUS             the number of GPUs (1)
//   INGOT_FAKE_ARCH             the GPU's compute capability (90)
//   INGOT_FAKE_MEMORY           bytes of the GPU (1 GiB)
//   INGOT_FAKE_MULTIPROCESSORS  of the GPU (132)
//   INGOT_FAKE_VERSION          of the driver (13000)
//   INGOT_FAKE_FAIL             the function that fails; with :N, from its Nth
//                               call on
//   INGOT_FAKE_LACK             what fails lacks memory (0)
//   INGOT_FAKE_NAN              the graph launch after which all values are NaN
//   INGOT_FAKE_SLOW             milliseconds that the host takes for a matmul
//                               (0)
//   INGOT_FAKE_NO_EPILOGUES     matmuls have none: 1 when algorithms are asked
//                               for, 2 when one runs (0)
//   INGOT_FAKE_TENSOR_CORES     the first engine of a convolution is
//                               deterministic and uses tensor cores (0)
//   INGOT_FAKE_BLASLT_VERSION   of cuBLASLt (130000)
//   INGOT_FAKE_DNN_WORKSPACE    the least workspace of attention (256)
//   INGOT_FAKE_NCCL_VERSION     of NCCL (23007)
//   INGOT_FAKE_NO_WINDOWS       NCCL has no symmetric memory (0)
//   INGOT_FAKE_COMPUTE          everything is computed (0)
//   INGOT_SOFTWARE_GPU_SEED     draws the order of what nothing orders (0);
//                               with odd ones the GPU runs ahead of waits
//   INGOT_FAKE_NAME             of the GPU (fake)
//   INGOT_FAKE_BLIND            CUPTI sees nothing of what runs (0)
//   INGOT_FAKE_TIMES            digits: milliseconds between events, in turn
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_FAKES_H
#define INGOT_TEST_FAKES_CUDA_FAKES_H

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace fakes {

/// Headers add versions to names, as in cuMemAlloc_v2: they are left out.
inline std::string getPlainName(const char *symbol) {
  return {symbol, std::strcspn(symbol, "_")};
}

/// Whether the test wants this call to fail.
inline bool fails(const char *symbol) {
  const char *setting = std::getenv("INGOT_FAKE_FAIL");
  std::string_view failing = setting ? setting : "";
  size_t colon = failing.find(':');
  if (failing.substr(0, colon) != getPlainName(symbol))
    return false;
  static long calls = 0;
  return colon == std::string_view::npos ||
         ++calls >= std::atol(setting + colon + 1);
}

/// Whether what fails lacks memory.
inline bool lacksMemory() {
  const char *setting = std::getenv("INGOT_FAKE_LACK");
  return setting && std::string_view(setting) == "1";
}

/// Writes a line, and says whether the test wants this call to fail.
inline bool record(const char *symbol, const char *format = "", ...) {
  std::string name = getPlainName(symbol);
  const char *function = name.c_str();
  const char *path = std::getenv("INGOT_FAKE_LOG");
  if (std::FILE *file = path ? std::fopen(path, "a") : nullptr) {
    std::fprintf(file, "%s", function);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(file, format, arguments);
    va_end(arguments);
    std::fprintf(file, "\n");
    std::fclose(file);
  }
  return fails(symbol);
}

/// The clock of tools, in nanoseconds; another one than the host's.
inline uint64_t getTimestamp() {
  constexpr uint64_t offset = 1000000000000;
  return offset + static_cast<uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count());
}

inline long getSetting(const char *name, long standard) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : standard;
}

/// Functions that the fake driver exports to the other fakes: `hold` says that
/// an object's work was enqueued, so that a graph that is being captured holds
/// the object from now on; `count` returns how many graphs do.
using HoldObject = void (*)(const void *object);
using CountHolders = size_t (*)(const void *object);
/// Puts work into a stream, or into the graph that is being captured; it
/// returns false while it waits for other ranks.
using SubmitWork = void (*)(void *stream, const std::function<bool()> *work);
using AskWhether = bool (*)();
using IsOnDevice = bool (*)(const void *place, size_t bytes);
/// Says which memory the work that runs now reads or writes, and whose it is.
using NoteAccess = void (*)(const char *name, const void *place, size_t bytes,
                            bool isWritten);

/// The callbacks of a tool that watches the driver (FakeCupti.cpp).
struct DriverTool {
  /// A call that enqueues work, by its number.
  void (*called)(uint32_t call);
  /// Nodes of graphs.
  void (*created)(uint64_t node);
  void (*cloned)(uint64_t node, uint64_t original);
  /// Work that has run: of a call, and of a node or 0, between two instants.
  void (*ran)(const std::string &name, uint32_t call, uint64_t node,
              uint64_t begin, uint64_t end);
};
using SetTool = void (*)(const DriverTool *tool);

/// A function of the fake driver; null where there is none.
template <typename Function> Function findInDriver(const char *name) {
  static void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
}

/// Held by every call of the driver and of the libraries for one GPU, so that
/// threads may call them at the same time. There is one lock, since a call of
/// the driver runs the work of the libraries.
class Turn {
public:
  Turn() {
    static auto find =
        findInDriver<std::recursive_mutex *(*)()>("ingotFakeGetMutex");
    if (find)
      lock = std::unique_lock(*find());
  }

private:
  std::unique_lock<std::recursive_mutex> lock;
};

/// Whether library calls are computed.
inline bool computes() {
  static auto ask = findInDriver<AskWhether>("ingotFakeIsComputing");
  return ask && ask();
}
inline void submitWork(void *stream, const std::function<bool()> &work) {
  findInDriver<SubmitWork>("ingotFakeSubmit")(stream, &work);
}
inline void noteAccess(const char *name, const void *place, size_t bytes,
                       bool isWritten) {
  static auto note = findInDriver<NoteAccess>("ingotFakeNoteAccess");
  if (note && place)
    note(name, place, bytes, isWritten);
}

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_FAKES_H
