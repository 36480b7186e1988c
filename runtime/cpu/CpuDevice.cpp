// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The CPU as a device (Device.h): blocks are memory of the host, and a run is a
// call of the function.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/core/LostFiles.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>

using namespace ingot::runtime;

static void checkCpu(const Manifest &manifest) {
  std::string names;
  for (const std::string &name : findMissingFeatures(manifest.target.features))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    throw failure("this CPU",
                  "lacks " + names + ", which the trainer was compiled for",
                  "compile the model on this machine, or with an --arch that "
                  "both machines have");
}

namespace {
class CpuDevice : public Device {
public:
  explicit CpuDevice(const Manifest &manifest)
      : mappedBegin(manifest.getMappedBegin()),
        mappedBytes(manifest.mappedBytes),
        state(mappedBytes == 0 ? manifest.stateBytes
                               : mappedBegin + mappedBytes,
              "state"),
        arena(manifest.arenaBytes, "arena") {
    getThreadCount();
  }
  CpuDevice(const CpuDevice &) = delete;
  CpuDevice &operator=(const CpuDevice &) = delete;
  ~CpuDevice() override { forget(); }

  std::string describe() const override {
    int threads = getThreadCount();
    return "CPU, " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  Parallelism getParallelism() const override {
    return {getThreadCount(),
            std::clamp<int64_t>(readCpuQuota(), 1, getCoreCount())};
  }
  char *getState() const override { return state.getData(); }
  char *getArena() const override { return arena.getData(); }
  bool mapStates(int descriptor, uint64_t fileOffset,
                 const std::string &path) override {
    forget();
    if (!state.map(mappedBegin, descriptor, fileOffset, mappedBytes))
      return false;
    watchMapping(state.getData() + mappedBegin, mappedBytes, descriptor, path);
    watched = path;
    return true;
  }
  char *allocateShards(int64_t bytes) override {
    shards = Block(bytes, "shards of the state");
    return shards.getData();
  }
  DeviceTraits getTraits() const override {
    return {
        .sharesHostMemory = true, .runsInCalls = true, .exchangesOnHost = true};
  }
  Transfers *getTransfers() override { return nullptr; }
  void run(ingot_context &context, int32_t, ingot_step_fn run) override {
    run(&context, getState(), getArena());
    if (std::optional<std::string> note = takeThreadNote())
      context.notes.push_back(*note);
  }

  void forEach(int64_t count,
               const std::function<void(int64_t)> &body) const override {
    parallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        body(i);
    });
  }

private:
  void forget() {
    if (!watched.empty())
      forgetMapping(state.getData() + mappedBegin, watched);
    watched.clear();
  }

  int64_t mappedBegin, mappedBytes;
  Block state, arena, shards;
  /// The file that states are mapped from.
  std::string watched;
};
} // namespace

bool ingot::runtime::canRun(const Manifest &manifest) {
  return findMissingFeatures(manifest.target.features).empty();
}

std::unique_ptr<Device> ingot::runtime::openDevice(const ingot_module_t &,
                                                   const Manifest &manifest,
                                                   int64_t) {
  manifest.checkTarget("cpu");
  checkCpu(manifest);
  checkMemoryLimit(manifest.stateBytes + manifest.arenaBytes,
                   readMemoryLimit());
  return std::make_unique<CpuDevice>(manifest);
}
