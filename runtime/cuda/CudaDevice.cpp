// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/CudaDevice.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/core/text/Quantities.h"
#include "runtime/cuda/driver/Switches.h"
#include "runtime/cuda/profile/ActivityTimes.h"
#include "runtime/cuda/profile/EventTimes.h"
#include "runtime/cuda/profile/Nvtx.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace ingot::runtime;

static std::string getArchName(int major, int minor) {
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

/// The number of this rank among those on this machine, as MPI's launchers,
/// torchrun and Slurm say.
static int getLocalRank() {
  for (const char *variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                               "LOCAL_RANK", "SLURM_LOCALID"})
    if (const char *value = std::getenv(variable))
      return std::max(0, std::atoi(value));
  return 0;
}

/// Whether the launcher, or the user, leaves this rank a single GPU.
static bool isBoundToOneGpu() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible && *visible && !std::strchr(visible, ',');
}

CudaDevice::CudaDevice(const ingot_module_t &module, const Manifest &manifest,
                       int64_t ranks)
    : module(module), manifest(manifest) {
  openGpu();
  loadCode(module);
  if (ranks > 1 || getSwitches().exchangesAlone)
    exchanged = std::make_unique<NcclMemory>();
  state = allocateExchanged(manifest.stateBytes);
  arena = allocateExchanged(manifest.arenaBytes);
  if (manifest.stagingBytes != 0)
    staging = allocateZeros(manifest.stagingBytes);
  const char *setting = std::getenv("INGOT_CUDA_GRAPH");
  records = !setting || std::string_view(setting) != "0";
}

CudaDevice::~CudaDevice() {
  // After failures another one makes no difference.
  if (!owner)
    return;
  (void)driver.cuCtxSetCurrent(owner);
  for (CUstream queue : {inputStream, stream})
    if (queue)
      (void)driver.cuStreamSynchronize(queue);
  // A graph that holds exchanges of NCCL keeps its communicator alive.
  dropRecordings();
  nccl.reset();
  attention.reset();
  dnn.reset();
  blasLt.reset();
  launches.reset();
  tuner.reset();
  sides.reset();
  times.reset();
  for (CUevent event : marks)
    (void)driver.cuEventDestroy(event);
  for (void *block : hostBlocks)
    (void)driver.cuMemFreeHost(block);
  for (CUdeviceptr block : {shards, staging, arena, state})
    if (block &&
        !(exchanged && exchanged->free(reinterpret_cast<void *>(block))))
      (void)driver.cuMemFree(block);
  if (code)
    (void)driver.cuModuleUnload(code);
  for (CUstream queue : {inputStream, stream})
    if (queue)
      (void)driver.cuStreamDestroy(queue);
  (void)driver.cuDevicePrimaryCtxRelease(gpu);
}

void CudaDevice::dropRecordings() {
  // The driver puts off the destruction of a graph that runs.
  for (auto &[key, recording] : recordings)
    if (recording.graph)
      (void)driver.cuGraphExecDestroy(recording.graph);
  recordings.clear();
}

void CudaDevice::openGpu() {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "counting GPUs");
  if (count == 0)
    throw failure("CUDA", "no GPU can be used",
                  "check CUDA_VISIBLE_DEVICES and nvidia-smi, or compile with "
                  "--target cpu");
  // A launcher may have left each rank one GPU to see.
  int local = count == 1 && isBoundToOneGpu() ? 0 : getLocalRank();
  if (local >= count)
    throw failure("CUDA",
                  "rank " + std::to_string(local) + " of this machine has no " +
                      "GPU: " + std::to_string(count) + " can be used",
                  "start at most one rank for each GPU of a machine; where the "
                  "launcher leaves each rank a GPU of its own, set "
                  "CUDA_VISIBLE_DEVICES=0");
  driver.check(driver.cuDeviceGet(&gpu, local), "opening the GPU");
  // Libraries use the primary context as well.
  driver.check(driver.cuDevicePrimaryCtxRetain(&owner, gpu), "opening the GPU");
  enter();
  stream = driver.makeStream(Driver::Priority::Highest);
  inputStream = driver.makeStream(Driver::Priority::Highest);
}

void CudaDevice::enter() {
  std::thread::id self = std::this_thread::get_id();
  if (user.exchange(self, std::memory_order_relaxed) != self)
    driver.check(driver.cuCtxSetCurrent(owner), "opening the GPU");
}

void CudaDevice::loadCode(const ingot_module_t &module) {
  int major = 0, minor = 0;
  driver.check(driver.cuDeviceGetAttribute(
                   &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu),
               "asking what the GPU is");
  driver.check(driver.cuDeviceGetAttribute(
                   &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu),
               "asking what the GPU is");
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (module.device_code_bytes != 0)
    result = driver.cuModuleLoadDataEx(&code, module.device_code, 0, nullptr,
                                       nullptr);
  // The driver compiles PTX for later architectures, and where it does not know
  // the form of the machine code.
  if (result != CUDA_SUCCESS && module.device_ptx)
    result = driver.cuModuleLoadDataEx(&code, module.device_ptx, 0, nullptr,
                                       nullptr);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
      result == CUDA_ERROR_INVALID_PTX ||
      result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    throw failure("CUDA",
                  "the GPU is " + getArchName(major, minor) +
                      ", the trainer was compiled for " + manifest.target.arch +
                      ": " + driver.describe(result),
                  "compile with --arch " + getArchName(major, minor) +
                      ", or install a later NVIDIA driver");
  driver.check(result, "loading the kernels");
}

CUdeviceptr CudaDevice::allocateZeros(int64_t bytes) {
  // Drivers refuse empty blocks.
  bytes = std::max<int64_t>(bytes, INGOT_ALIGNMENT);
  CUdeviceptr block = 0;
  CUresult result = driver.cuMemAlloc(&block, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw failure("GPU memory", describeLack(),
                  "compile with a smaller --batch or --memory-budget, or "
                  "free memory of the GPU");
  driver.check(result, "allocating memory of the GPU");
  clearBlock(block, bytes);
  return block;
}

CUdeviceptr CudaDevice::allocateExchanged(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, INGOT_ALIGNMENT);
  if (!exchanged)
    return allocateZeros(bytes);
  auto block = reinterpret_cast<CUdeviceptr>(exchanged->allocate(bytes));
  if (block) {
    clearBlock(block, bytes);
    return block;
  }
  // The driver says what is wrong, if anything is.
  block = allocateZeros(bytes);
  exchanged->add(reinterpret_cast<void *>(block), bytes);
  return block;
}

void CudaDevice::clearBlock(CUdeviceptr block, int64_t bytes) {
  driver.check(driver.cuMemsetD8Async(block, 0, bytes, stream),
               "clearing memory of the GPU");
  driver.check(driver.cuStreamSynchronize(stream),
               "clearing memory of the GPU");
}

char *CudaDevice::allocateShards(int64_t bytes) {
  enter();
  shardBytes = bytes;
  shards = allocateZeros(bytes);
  return reinterpret_cast<char *>(shards);
}

/// Describes what the memory would have to hold, largest first.
std::string CudaDevice::describeLack() const {
  size_t free = 0, total = 0;
  (void)driver.cuMemGetInfo(&free, &total);
  // Blocks that the trainer has allocated count as free.
  if (state)
    free += manifest.stateBytes;
  if (arena)
    free += manifest.arenaBytes;
  if (staging)
    free += manifest.stagingBytes;
  std::vector<std::pair<int64_t, std::string>> residents;
  for (const StateSpec &spec : manifest.states)
    if (!spec.shard)
      residents.emplace_back(spec.getBytes(), spec.name);
  residents.emplace_back(manifest.arenaBytes, "activations and gradients");
  if (manifest.stagingBytes != 0)
    residents.emplace_back(manifest.stagingBytes, "staged inputs");
  if (shardBytes != 0)
    residents.emplace_back(shardBytes, "shards and payloads of ranks");
  std::sort(residents.rbegin(), residents.rend());
  constexpr size_t shown = 8;
  std::string list;
  for (size_t i = 0; i < std::min(residents.size(), shown); ++i)
    list += (i == 0 ? "" : ", ") + residents[i].second + " " +
            describeBytes(residents[i].first);
  if (residents.size() > shown)
    list += ", and " + std::to_string(residents.size() - shown) + " more";
  return "needs " +
         describeBytes(manifest.stateBytes + manifest.arenaBytes +
                       manifest.stagingBytes + shardBytes) +
         ", and " + describeBytes(free) + " of " + describeBytes(total) +
         " are free: " + list;
}

std::string CudaDevice::getName() const {
  char name[256] = "";
  driver.check(driver.cuDeviceGetName(name, sizeof(name), gpu),
               "asking what the GPU is");
  return name;
}

std::string CudaDevice::describe() const {
  size_t free = 0, total = 0;
  driver.check(driver.cuMemGetInfo(&free, &total), "asking what the GPU is");
  return getName() + ", " + describeBytes(total);
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

char *CudaDevice::allocate(size_t bytes) {
  enter();
  void *block = nullptr;
  driver.check(driver.cuMemHostAlloc(&block, std::max<size_t>(bytes, 1), 0),
               "allocating page-locked memory");
  hostBlocks.push_back(block);
  return static_cast<char *>(block);
}

void CudaDevice::copyIn(Queue queue, char *to, const char *from, size_t bytes) {
  enter();
  if (bytes != 0)
    driver.check(driver.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                          from, bytes, getStream(queue)),
                 "copying to the GPU");
}

void CudaDevice::copyOut(char *to, const char *from, size_t bytes) {
  enter();
  if (bytes != 0)
    driver.check(driver.cuMemcpyDtoHAsync(
                     to,
                     reinterpret_cast<CUdeviceptr>(const_cast<char *>(from)),
                     bytes, stream),
                 "copying from the GPU");
}

void CudaDevice::copyWithin(char *to, const char *from, size_t bytes) {
  enter();
  if (bytes != 0)
    copy(to, from, bytes);
}

Transfers::Mark CudaDevice::makeMark() {
  enter();
  marks.push_back(makeEvent(CU_EVENT_DISABLE_TIMING));
  return marks.size() - 1;
}

void CudaDevice::setMark(Mark mark, Queue queue) {
  enter();
  driver.check(driver.cuEventRecord(marks[mark], getStream(queue)),
               "recording an event");
}

void CudaDevice::wait(Mark mark) {
  enter();
  CUevent event = marks[mark];
  CUresult state = driver.cuEventQuery(event);
  if (state == CUDA_ERROR_NOT_READY) {
    if (std::string problem = nccl ? nccl->wait(event) : ""; !problem.empty()) {
      dropRecordings();
      nccl->abandon(problem);
    }
    state = driver.cuEventSynchronize(event);
  }
  driver.check(state, "running on the GPU");
}

void CudaDevice::waitForRuns() {
  if (!runsDone)
    runsDone = makeMark();
  setMark(*runsDone, Queue::Runs);
  wait(*runsDone);
}

void CudaDevice::holdBack(Queue queue, Mark mark) {
  enter();
  driver.check(driver.cuStreamWaitEvent(getStream(queue), marks[mark], 0),
               "waiting for a copy");
}

CUevent CudaDevice::makeEvent(unsigned flags) {
  CUevent event = nullptr;
  driver.check(driver.cuEventCreate(&event, flags), "making an event");
  return event;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void CudaDevice::run(ingot_context &context, int32_t index,
                     ingot_step_fn function) {
  enter();
  std::string name =
      isNvtxActive() ? manifest.getSymbol(manifest.functions[index]) : "";
  DeviceRange range(*this, name.c_str());
  if (context.profiling && !times)
    times = std::make_unique<EventTimes>(driver, stream, "");
  bool seesGraphs = times && times->seesGraphs();
  bool isObserved = (context.profiling && !seesGraphs) || context.observer;
  auto gathers = nccl ? nccl->getDeferred() : std::vector<Nccl::Bucket>();
  Recording &recording = recordings[{index, std::move(gathers)}];
  guard(context, "", [&] {
    if (!records || isObserved || recording.runs++ == 0 || !recording.isTuned) {
      call(context, function);
      if (launches && launches->hasTrials())
        waitForRuns();
      recording.isTuned =
          !launches || !launches->isMeasuring() || isTunedEverywhere(context);
      if (tuner)
        noteTuning(context);
    } else {
      if (!recording.graph) {
        recording.graph = record(context, function);
        if (nccl)
          recording.deferred = nccl->getDeferred();
      }
      if (recording.graph)
        driver.check(driver.cuGraphLaunch(recording.graph, stream),
                     "launching the step");
      if (nccl)
        nccl->setDeferred(recording.deferred);
    }
    if (context.profiling || seesGraphs)
      collectTimes(context);
  });
}

void CudaDevice::prepareProfile() {
  try {
    times = std::make_unique<ActivityTimes>(driver.getMajor());
  } catch (const Error &error) {
    times = std::make_unique<EventTimes>(driver, stream, error.what());
  }
}

std::string CudaDevice::describeTimes() const {
  return times ? times->describe() : "";
}

void CudaDevice::collectTimes(ingot_context &context) {
  waitForRuns();
  // A library that is there may still see nothing.
  if (!times->collect(context))
    times = std::make_unique<EventTimes>(
        driver, stream, times->describe() + " are not known here");
}

void CudaDevice::noteTuning(ingot_context &context) {
  if (std::string report = tuner->takeReport(); !report.empty())
    context.notes.push_back(report);
  if (std::string problem = tuner->takeProblem(); !problem.empty())
    context.notes.push_back("the choice of --tune is not kept: " + problem);
}

/// Whether no rank has launches of the function left to tune. All ranks record
/// it in the same run: what one captures, others would not answer.
bool CudaDevice::isTunedEverywhere(const ingot_context &context) {
  float untuned = launches->finishRun() ? 0 : 1;
  if (context.ranks)
    context.ranks->allReduce(&untuned, 1, DType::F32, "the state of --tune");
  return untuned == 0;
}

/// Runs a function. The all-gathers that the last one deferred overlap with it,
/// and end with it.
void CudaDevice::call(ingot_context &context, ingot_step_fn function) {
  try {
    if (nccl)
      nccl->startDeferred(stream);
    function(&context, getState(), getArena());
    if (nccl && !context.failed)
      nccl->joinAll(stream);
  } catch (const Error &error) {
    context.fail(error);
  }
}

void CudaDevice::openRange(const char *name) { pushNvtxRange(name); }

void CudaDevice::closeRange() { popNvtxRange(); }

void CudaDevice::completeState() {
  if (!nccl || nccl->getDeferred().empty())
    return;
  nccl->startDeferred(stream);
  nccl->joinAll(stream);
  waitForRuns();
}

bool CudaDevice::tune(const Tuning &tuning) {
  tuner = std::make_unique<Tuner>(driver, stream, getName(), tuning);
  launches = std::make_unique<LaunchTuner>(
      *tuner, driver, stream, gpu, module.device_ptx, tuning.triesKernels);
  return true;
}

bool CudaDevice::allowVariation() {
  isDeterministic = false;
  return true;
}

CUgraphExec CudaDevice::record(ingot_context &context, ingot_step_fn function) {
  driver.check(
      driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      "recording the step");
  isRecording = true;
  if (sides)
    sides->reset();
  call(context, function);
  isRecording = false;
  CUgraph graph = nullptr;
  CUresult result = driver.cuStreamEndCapture(stream, &graph);
  // The first failure says more.
  if (context.failed)
    return nullptr;
  driver.check(result, "recording the step");
  CUgraphExec executable = nullptr;
  // Without the flag all nodes have the priority of the stream that the graph
  // is launched in.
  result = driver.cuGraphInstantiate(
      &executable, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  (void)driver.cuGraphDestroy(graph);
  driver.check(result, "recording the step");
  return executable;
}

CUfunction CudaDevice::findKernel(const ingot_grid_kernel &kernel) {
  CUfunction &function = kernels[&kernel];
  if (!function)
    driver.check(driver.cuModuleGetFunction(&function, code, kernel.name),
                 "finding a kernel");
  return function;
}

void CudaDevice::launch(const ingot_context &context,
                        const ingot_grid_kernel &kernel, void *const *buffers,
                        bool tunes) {
  CUfunction function = findKernel(kernel);
  std::vector<void *> arguments(kernel.buffers);
  for (int32_t i = 0; i < kernel.buffers; ++i)
    arguments[i] = const_cast<void **>(&buffers[i]);
  ElementRange range;
  if (kernel.extent != 0) {
    range = getElements(&context, &kernel, kernel.extent);
    arguments.insert(arguments.end(), {&range.begin, &range.end});
  }
  auto put = [&](int32_t blocks) {
    // All shared memory is declared by the kernels themselves.
    driver.check(driver.cuLaunchKernel(function, blocks, 1, 1, kernel.block, 1,
                                       1, /*sharedMemBytes=*/0, getStream(),
                                       arguments.data(), nullptr),
                 kernel.name);
  };
  if (launches && tunes && kernel.any_grid)
    launches->launch(kernel, put);
  else
    put(kernel.grid);
}

void CudaDevice::launch(const ingot_matmul_grid_desc &matmul, const void *a,
                        const void *b, void *const *buffers) {
  const ingot_grid_kernel &kernel = matmul.kernel;
  CUfunction function = findKernel(kernel);
  MatmulMaps &maps = matmulMaps[&matmul];
  if (!maps.isOf(a, b)) {
    maps.encode(driver, matmul, a, b);
    // More than the 48 KiB that any kernel may have.
    driver.check(driver.cuFuncSetAttribute(
                     function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     matmul.dynamic_bytes),
                 kernel.name);
  }
  std::vector<void *> arguments = {maps.getLhs(), maps.getRhs()};
  for (int32_t i = 0; i < kernel.buffers; ++i)
    arguments.push_back(const_cast<void **>(&buffers[i]));
  driver.check(driver.cuLaunchKernel(function, kernel.grid, 1, 1, kernel.block,
                                     1, 1, matmul.dynamic_bytes, getStream(),
                                     arguments.data(), nullptr),
               kernel.name);
}

void CudaDevice::copy(void *to, const void *from, size_t bytes) {
  driver.check(driver.cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                        reinterpret_cast<CUdeviceptr>(from),
                                        bytes, getStream()),
               "copying on the GPU");
}

void CudaDevice::clear(void *to, size_t bytes) {
  driver.check(driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(to), 0,
                                      bytes, getStream()),
               "clearing memory of the GPU");
}

SideStream *CudaDevice::getSides() {
  if (!isRecording || getSwitches().hasOneStream)
    return nullptr;
  if (!sides)
    sides = std::make_unique<SideStream>(driver, stream);
  return sides.get();
}

BlasLt &CudaDevice::getBlasLt() {
  if (!blasLt)
    blasLt = std::make_unique<BlasLt>(driver, stream, tuner.get());
  blasLt->setStream(getStream(), isBeside);
  return *blasLt;
}

Dnn &CudaDevice::getDnn() {
  if (!dnn)
    dnn = std::make_unique<Dnn>(stream, tuner.get());
  dnn->setStream(getStream());
  return *dnn;
}

DnnAttention &CudaDevice::getAttention() {
  if (!attention)
    attention = std::make_unique<DnnAttention>(getDnn(), driver, stream,
                                               isDeterministic);
  (void)getDnn();
  return *attention;
}

Nccl &CudaDevice::getNccl(Communicator &ranks) {
  if (!nccl)
    nccl = std::make_unique<Nccl>(driver, ranks, *exchanged);
  return *nccl;
}

CudaDevice::Call::Call(CudaDevice &device, ingot_context &context,
                       int64_t kernel, bool isExchange)
    : device(device), context(context), kernel(kernel) {
  if (isNvtxActive()) {
    const auto &kernels = device.manifest.functions[context.function].kernels;
    bool isListed =
        kernel >= 0 && kernel < static_cast<int64_t>(kernels.size());
    pushNvtxRange(isListed ? kernels[kernel].name.c_str() : "kernel");
  }
  // What is recorded now may be profiled later.
  isTimed = device.times && (context.profiling || device.times->seesGraphs());
  if (isTimed)
    device.times->begin(kernel, isExchange                            ? 2
                                : device.getStream() != device.stream ? 1
                                                                      : 0);
}

CudaDevice::Call::~Call() {
  popNvtxRange();
  if (context.failed)
    return;
  guardLibraryCall(&context, "CUDA", [&] {
    if (isTimed)
      device.times->end();
    // The observer reads results through transfers, which wait for the call.
    if (context.observer)
      context.observer->called(context.function, kernel);
  });
}
