// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An NVIDIA GPU as a device (Device.h): blocks in its memory, a stream for runs
// and one for copies of inputs, and a CUDA graph for each function after its
// first run.
//
// The first run of a function launches kernel by kernel, which loads code and
// lets libraries choose algorithms. The second is captured in a CUDA graph, and
// from then on a run is a single launch, in which the regions that the compiler
// chose run concurrently with other calls. INGOT_CUDA_GRAPH=0 and watches
// always launch kernel by kernel, and so do profiles where CUPTI is not.
//
// All-gathers that a function defers are the beginning of the next function: a
// graph completes what it starts.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_CUDADEVICE_H
#define INGOT_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/LaunchTuner.h"
#include "runtime/cuda/MatmulMaps.h"
#include "runtime/cuda/SideStream.h"
#include "runtime/cuda/driver/Driver.h"
#include "runtime/cuda/libraries/BlasLt.h"
#include "runtime/cuda/libraries/Dnn.h"
#include "runtime/cuda/libraries/DnnAttention.h"
#include "runtime/cuda/libraries/Nccl.h"
#include "runtime/cuda/profile/CallTimes.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::runtime {

class CudaDevice : public Device, private Transfers {
public:
  /// Opens the GPU of one of `ranks` ranks.
  CudaDevice(const ingot_module_t &module, const Manifest &manifest,
             int64_t ranks);
  ~CudaDevice() override;

  std::string describe() const override;
  char *getState() const override { return reinterpret_cast<char *>(state); }
  char *getArena() const override { return reinterpret_cast<char *>(arena); }
  char *allocateShards(int64_t bytes) override;
  DeviceTraits getTraits() const override {
    return {.preparesInFirstRun = true};
  }
  Transfers *getTransfers() override { return this; }
  bool tune(const Tuning &tuning) override;
  bool allowVariation() override;
  void prepareProfile() override;
  std::string describeTimes() const override;
  void run(ingot_context &context, int32_t index,
           ingot_step_fn function) override;
  void completeState() override;
  void openRange(const char *name) override;
  void closeRange() override;

  const Driver &getDriver() const { return driver; }
  /// The stream that calls enqueue their work in.
  CUstream getStream() const {
    return sides && isRecording ? sides->getCurrent() : stream;
  }
  /// Returns the stream of regions concurrent with other calls; null unless the
  /// function is being recorded, since otherwise everything runs in order.
  SideStream *getSides();
  /// Begins or ends a region concurrent with other calls, recorded or not.
  void setBeside(bool is) { isBeside = is; }
  /// Whether runs exchange data with NCCL.
  bool exchanges() const { return exchanged != nullptr; }

  /// Launches a kernel. With `tunes`, --tune may try another number of blocks.
  void launch(const ingot_context &context, const ingot_grid_kernel &kernel,
              void *const *buffers, bool tunes = true);
  /// Launches a generated matmul.
  void launch(const ingot_matmul_grid_desc &matmul, const void *a,
              const void *b, void *const *buffers);
  void copy(void *to, const void *from, size_t bytes);
  void clear(void *to, size_t bytes);
  BlasLt &getBlasLt();
  Dnn &getDnn();
  DnnAttention &getAttention();
  Nccl &getNccl(Communicator &ranks);

  /// Runs `body`; a failure becomes one of the function that runs, in the call
  /// `name` if that is not empty, and keeps its hint.
  template <typename Body>
  void guard(ingot_context &context, const std::string &name, Body body) {
    guardLibraryCall(&context, "CUDA", [&] {
      try {
        body();
      } catch (const Error &error) {
        size_t index = context.function;
        std::string where = index < manifest.functions.size()
                                ? manifest.functions[index].name + ": "
                                : "";
        context.fail(failure(where + (name.empty() ? "" : name + ": ") +
                                 error.getWhere(),
                             error.getWhat(), error.getHint()));
      }
    });
  }

  /// The work that one entry point enqueues, which profiles time and the
  /// observer is notified of.
  class Call {
  public:
    Call(CudaDevice &device, ingot_context &context, int64_t kernel,
         bool isExchange = false);
    ~Call();

  private:
    CudaDevice &device;
    ingot_context &context;
    int64_t kernel;
    bool isTimed = false;
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

  /// Makes the GPU the calling thread's: the session of a library may pass from
  /// one thread to another. Whatever the host calls begins with it.
  void enter();
  std::string getName() const;
  void openGpu();
  void loadCode(const ingot_module_t &module);
  CUfunction findKernel(const ingot_grid_kernel &kernel);
  CUdeviceptr allocateZeros(int64_t bytes);
  /// Allocates memory that ranks exchange, where there are several.
  CUdeviceptr allocateExchanged(int64_t bytes);
  void clearBlock(CUdeviceptr block, int64_t bytes);
  CUevent makeEvent(unsigned flags);
  std::string describeLack() const;
  void call(ingot_context &context, ingot_step_fn function);
  /// Destroys the graphs of all functions. NCCL's communicator can be destroyed
  /// or aborted only afterwards: it waits for the graphs that hold it.
  void dropRecordings();
  CUgraphExec record(ingot_context &context, ingot_step_fn function);
  bool isTunedEverywhere(const ingot_context &context);
  /// Tells users what --tune has done in a run.
  void noteTuning(ingot_context &context);
  void waitForRuns();
  void collectTimes(ingot_context &context);

  const ingot_module_t &module;
  const Manifest &manifest;
  Driver driver;
  std::unique_ptr<Tuner> tuner;
  std::unique_ptr<LaunchTuner> launches;
  std::unique_ptr<BlasLt> blasLt;
  std::unique_ptr<Dnn> dnn;
  std::unique_ptr<DnnAttention> attention;
  /// Null where there is one rank.
  std::unique_ptr<NcclMemory> exchanged;
  std::unique_ptr<Nccl> nccl;
  CUdevice gpu = 0;
  CUcontext owner = nullptr;
  /// The thread that entered last.
  std::atomic<std::thread::id> user;
  CUstream stream = nullptr, inputStream = nullptr;
  CUmodule code = nullptr;
  CUdeviceptr state = 0, arena = 0, staging = 0, shards = 0;
  int64_t shardBytes = 0;
  std::vector<void *> hostBlocks;
  std::unordered_map<const ingot_grid_kernel *, CUfunction> kernels;
  std::unordered_map<const ingot_matmul_grid_desc *, MatmulMaps> matmulMaps;

  /// The CUDA graph of a function.
  struct Recording {
    /// How often the function has run.
    int64_t runs = 0;
    /// Whether all launches have been tuned.
    bool isTuned = false;
    /// Null before it has been captured.
    CUgraphExec graph = nullptr;
    /// The all-gathers that the function defers.
    std::vector<Nccl::Bucket> deferred;
  };
  /// By function, and by the all-gathers that it begins with.
  std::map<std::pair<int32_t, std::vector<Nccl::Bucket>>, Recording> recordings;
  std::unique_ptr<SideStream> sides;
  bool records = true, isRecording = false, isBeside = false;
  bool isDeterministic = true;

  std::vector<CUevent> marks;
  /// The mark after all runs so far, which waitForRuns sets.
  std::optional<Mark> runsDone;
  /// Null unless runs have been profiled, or may be.
  std::unique_ptr<CallTimes> times;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_CUDADEVICE_H
