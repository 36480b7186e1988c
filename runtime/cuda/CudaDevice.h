// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An NVIDIA GPU: the blocks in its memory, a stream for runs and one for copies
// of inputs, and a CUDA graph for each function once it has run one time
// (Device.h).
//
// The first run of a function launches kernel by kernel, which loads code and
// lets libraries choose algorithms; the second is recorded, and from then on a
// run is one launch. INGOT_CUDA_GRAPH=0, profiles and watches launch one by
// one always.
//
// What a function leaves to be gathered from the ranks, the next one begins
// with: a graph ends what it starts.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_CUDADEVICE_H
#define INGOT_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/LaunchTuner.h"
#include "runtime/cuda/libraries/BlasLt.h"
#include "runtime/cuda/libraries/Dnn.h"
#include "runtime/cuda/libraries/DnnAttention.h"
#include "runtime/cuda/libraries/Nccl.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::runtime {

class CudaDevice : public Device, private Transfers {
public:
  CudaDevice(const ingot_module_t &module, const Manifest &manifest);
  ~CudaDevice() override;

  std::string describe() const override;
  char *getState() const override { return reinterpret_cast<char *>(state); }
  char *getArena() const override { return reinterpret_cast<char *>(arena); }
  char *allocateShards(int64_t bytes) override;
  Transfers *getTransfers() override { return this; }
  bool tune(const std::string &path) override;
  void run(ingot_context &context, int32_t index,
           ingot_step_fn function) override;
  void completeState() override;

  const Driver &getDriver() const { return driver; }
  /// That of runs.
  CUstream getStream() const { return stream; }

  void launch(const ingot_context &context, const ingot_grid_kernel &kernel,
              void *const *buffers);
  void copy(void *to, const void *from, size_t bytes);
  void clear(void *to, size_t bytes);
  BlasLt &getBlasLt();
  Dnn &getDnn();
  DnnAttention &getAttention();
  Nccl &getNccl(Communicator &ranks);

  /// What one entry point puts into the stream: timed when the run is profiled,
  /// looked at when watched.
  class Call {
  public:
    Call(CudaDevice &device, ingot_context &context, int64_t kernel);
    ~Call();

  private:
    CudaDevice &device;
    ingot_context &context;
    int64_t kernel;
    CUevent begin = nullptr;
  };

private:
  char *allocate(size_t bytes) override;
  char *getStaging() const override {
    return reinterpret_cast<char *>(staging);
  }
  void copyIn(Queue queue, char *to, const char *from, size_t bytes) override;
  void copyOut(char *to, const char *from, size_t bytes) override;
  void copyWithin(char *to, const char *from, size_t bytes) override;
  Mark makeMark() override;
  void setMark(Mark mark, Queue queue) override;
  void wait(Mark mark) override;
  void holdBack(Queue queue, Mark mark) override;
  CUstream getStream(Queue queue) const {
    return queue == Queue::Inputs ? inputStream : stream;
  }

  std::string getName() const;
  void openGpu();
  void loadCode(const ingot_module_t &module);
  CUdeviceptr allocateZeros(int64_t bytes);
  CUevent makeEvent(unsigned flags);
  std::string describeLack() const;
  void call(ingot_context &context, ingot_step_fn function);
  CUgraphExec record(ingot_context &context, ingot_step_fn function);
  void waitForRuns();
  CUevent takeTimer();
  void collectTimes(ingot_context &context);

  const ingot_module_t &module;
  const Manifest &manifest;
  Driver driver;
  std::unique_ptr<Tuner> tuner;
  std::unique_ptr<LaunchTuner> launches;
  std::unique_ptr<BlasLt> blasLt;
  std::unique_ptr<Dnn> dnn;
  std::unique_ptr<DnnAttention> attention;
  std::unique_ptr<Nccl> nccl;
  CUdevice gpu = 0;
  CUcontext owner = nullptr;
  CUstream stream = nullptr, inputStream = nullptr;
  CUmodule code = nullptr;
  CUdeviceptr state = 0, arena = 0, staging = 0, shards = 0;
  int64_t shardBytes = 0;
  std::vector<void *> hostBlocks;
  std::unordered_map<const ingot_grid_kernel *, CUfunction> kernels;

  /// Of one function: how often it ran, whether launches are still tried out,
  /// its recording, and what that leaves to be gathered.
  struct Recording {
    int64_t runs = 0;
    bool isTuned = false;
    CUgraphExec graph = nullptr;
    std::vector<Nccl::Bucket> deferred;
  };
  /// By function, and the gathers that it begins with.
  std::map<std::pair<int32_t, std::vector<Nccl::Bucket>>, Recording> recordings;
  bool records = true;

  std::vector<CUevent> marks;
  /// Behind all runs so far, where they are waited for.
  std::optional<Mark> runsDone;

  /// Of a profiled run.
  struct TimedCall {
    CUevent begin, end;
    int64_t kernel;
  };
  std::vector<TimedCall> timed;
  std::vector<CUevent> freeTimers;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_CUDADEVICE_H
