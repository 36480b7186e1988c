// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaTarget.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/cost/gpu/GpuModel.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/convolutions/LibraryFusion.h"
#include "passes/targets/cuda/emit/DeviceCode.h"
#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"
#include "passes/targets/cuda/kernels/DeviceMessages.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"
#include "passes/targets/cuda/matmul/MatmulPlan.h"
#include "passes/targets/cuda/target/LibraryScratch.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/ScalarPasses.h"
#include "runtime/abi/ManifestTypes.h"

#include <cmath>

using namespace mlir;
using namespace ingot;

llvm::Expected<std::unique_ptr<Target>>
CudaTarget::create(const TargetSpec &spec, const Machine &machine) {
  if (!spec.arch.empty())
    if (llvm::Error error = checkArchitecture(spec.arch))
      return std::move(error);
  return std::unique_ptr<Target>(new CudaTarget(spec, machine));
}

void ingot::registerCudaTarget() {
  registerTarget("cuda", &CudaTarget::create);
}

StringRef CudaTarget::getArch() const {
  return spec.arch.empty() ? StringRef("sm_90") : StringRef(spec.arch);
}

unsigned CudaTarget::getCapability() const {
  unsigned number = 0;
  getArch().drop_front(StringRef("sm_").size()).consumeInteger(10, number);
  return number;
}

/// The first compute capability, times ten, with 8-bit floats.
static constexpr unsigned kFirstOfFloat8 = 89;
static constexpr unsigned kHopper = 90, kBlackwell = 100, kSmallBlackwell = 120;

CudaTarget::Instructions CudaTarget::getInstructions() const {
  return {/*math=*/true, /*float8=*/getCapability() >= kFirstOfFloat8};
}

runtime::TargetDescription CudaTarget::describe() const {
  runtime::TargetDescription described;
  described.kind = "cuda";
  described.arch = getArch();
  described.tuning = runtime::TuningPlace::Device;
  return described;
}

HostProcessor CudaTarget::getHost() const {
  // Any CPU can launch kernels.
  return llvm::cantFail(findProcessor("x86-64"));
}

namespace {
/// A GPU's figures, from the folder `machines`.
struct GpuMachine {
  llvm::StringLiteral name, json;
};
} // namespace

static constexpr GpuMachine kMachines[] = {
#include "passes/targets/cuda/Machines.inc"
};

StringRef CudaTarget::findMachine(StringRef name) const {
  for (const GpuMachine &machine : kMachines)
    if (machine.name == name)
      return machine.json;
  return "";
}

Machine CudaTarget::describeMachine() const {
  // The GPU of the architecture that training uses most.
  unsigned capability = getCapability();
  StringRef name = capability < kHopper      ? "a100"
                   : capability < kBlackwell ? "h100"
                                             : "b200";
  Machine machine;
  llvm::cantFail(machine.readJson(findMachine(name)));
  return machine;
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

static bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

/// Returns whether tensor cores multiply the type; f32 is then rounded to TF32.
static bool isOnTensorCores(int32_t type, MathMode math) {
  return type == INGOT_BF16 || type == INGOT_F16 ||
         (type == INGOT_F32 && math == MathMode::TF32);
}

/// Returns why cuDNN does not support attention of these sizes and bounds;
/// empty if it does.
static StringRef refuseSizes(const AttentionSizes &sizes, int64_t left,
                             int64_t right) {
  auto fits = [](int64_t columns) {
    return columns > 0 && columns % 8 == 0 && columns <= 128;
  };
  bool knowsBounds = right == 0 || (right < 0 && left < 0);
  bool isEmpty = sizes.batch * sizes.heads * sizes.queries * sizes.keys == 0;
  if (!isEmpty && fits(sizes.size) && fits(sizes.valueSize) && knowsBounds &&
      sizes.window(left, right).fewest > 0)
    return "";
  return "the library requires head sizes that are multiples of 8 up to 128, "
         "and bounds in which each query attends to a key";
}

bool CudaTarget::hasAttention(Type element) const { return isHalf(element); }

std::string CudaTarget::refuseAttention(const AttentionQuery &query) const {
  if (query.hasTerms || query.hasDropout)
    if (query.readsLse)
      return "the log-sum-exp is used; the library's differs for fully masked "
             "rows and ignores dropout";
  if (query.hasMask)
    return "the library does not support masks";
  return refuseSizes(query.sizes, query.left, query.right).str();
}

/// TF32 where the target may round f32 to it.
static ingot_math getMath(bool isF32, const Target &target) {
  return isF32 && target.getSpec().math == MathMode::TF32 ? INGOT_MATH_TF32
                                                          : INGOT_MATH_EXACT;
}

static LibrarySupport describeSupport(const ingot_matmul_desc &desc,
                                      LibraryCall, const Target &target) {
  bool isF32 = desc.a_type == INGOT_F32 && desc.b_type == INGOT_F32 &&
               desc.c_type == INGOT_F32;
  return {"", static_cast<int64_t>(target.getMachine().deviceWorkspaceBytes),
          getMath(isF32, target)};
}

/// Whether a gradient by the filter may be wrong: on an H100 cuDNN 9 computed
/// 33 of 905 wrong that are in groups with other padding before than after (of
/// planes in f32, of volumes in 16 bits), and none of 1,424 other convolutions
/// and gradients of such sizes.
static bool isWrongInLibrary(const ingot_conv_desc &desc, LibraryCall call) {
  return isa<ConvFilterGradOp, ConvScaledFilterGradOp>(call.getOperation()) &&
         desc.groups > 1 &&
         !std::equal(desc.pad_low, desc.pad_low + desc.spatial_rank,
                     desc.pad_high);
}

static LibrarySupport describeSupport(const ingot_conv_desc &desc,
                                      LibraryCall call, const Target &target) {
  if (isWrongInLibrary(desc, call))
    return {"the library's gradient by the filter is wrong in groups with "
            "other padding before than after"};
  bool roundsF32 = target.getSpec().math == MathMode::TF32;
  return {"",
          static_cast<int64_t>(target.getMachine().deviceWorkspaceBytes) +
              cuda::getCopyBytes(desc, roundsF32),
          getMath(desc.type == INGOT_F32, target)};
}

static LibrarySupport describeSupport(const ingot_attention_desc &desc,
                                      LibraryCall call, const Target &target) {
  if (desc.type != INGOT_BF16 && desc.type != INGOT_F16)
    return {"the library supports 16-bit element types only"};
  if (hasBuffer(call, "mask"))
    return {"the library does not support masks"};
  // A query after a window of the first keys would attend to none.
  if (hasBuffer(call, "lengths") && desc.left >= 0)
    return {"the library does not support key sequence lengths with a sliding "
            "window"};
  AttentionSizes sizes = {desc.batch, desc.heads, desc.key_heads, desc.queries,
                          desc.keys,  desc.size,  desc.value_size};
  if (StringRef reason = refuseSizes(sizes, desc.left, desc.right);
      !reason.empty())
    return {reason.str()};
  bool isGradient = call.getEntry() == "ingot_attention_grad";
  constexpr int queries = 2;
  if (isGradient && hasBuffer(call, "bias") &&
      desc.bias_strides[queries] == 0 && desc.queries > 1)
    return {"the library's gradient is wrong where all queries share a bias"};
  int64_t bytes =
      static_cast<int64_t>(target.getMachine().deviceWorkspaceBytes) +
      cuda::getSumBytes(desc);
  if (isGradient)
    bytes += cuda::getScoreBytes(desc);
  return {"", bytes};
}

static LibrarySupport describeSupport(const ingot_compress_desc &, LibraryCall,
                                      const Target &) {
  return {"generated kernels compress on GPUs"};
}

LibrarySupport CudaTarget::getSupport(LibraryCall call) const {
  if (StringRef reason = call.refuseCall(); !reason.empty())
    return {reason.str()};
  if (isa<ConvStatisticsOp, ConvScaledFilterGradOp>(call.getOperation())) {
    auto desc = CallDescriptor::of(call).get<ingot_conv_desc>();
    if (StringRef reason = cuda::refuseFusion(desc, getCapability());
        !reason.empty())
      return {reason.str()};
  }
  // Collectives and the sum of squares of a shard need nothing.
  LibrarySupport support;
  CallDescriptor::of(call)
      .match<ingot_matmul_desc, ingot_conv_desc, ingot_attention_desc,
             ingot_compress_desc>([&](const auto &desc) {
        support = describeSupport(desc, call, *this);
      });
  return support;
}

/// Attentions of one shape share the memory that their algorithm needs in
/// addition to the planned one.
bool CudaTarget::canRunBeside(Operation *op) const {
  auto call = dyn_cast<LibraryCall>(op);
  return !call || !call.getEntry().starts_with("ingot_attention");
}

/// Returns the memory that the start of a compressed exchange needs; none for
/// other calls.
static std::optional<codegen::MessageBuffers> getMessages(LibraryCall call) {
  std::optional<codegen::MessageBuffers> buffers;
  CallDescriptor::of(call).match<ingot_bucket_desc>([&](const auto &desc) {
    if (desc.compression != INGOT_UNCOMPRESSED &&
        abi::findEntry(call.getEntry())->phase == abi::Phase::Start)
      buffers = codegen::MessageBuffers::of(
          call->getContext(), desc.compression, desc.elements, desc.k);
  });
  return buffers;
}

int64_t CudaTarget::getBytesOfRank(Operation *op) const {
  auto call = dyn_cast<LibraryCall>(op);
  std::optional<codegen::MessageBuffers> buffers;
  if (call)
    buffers = getMessages(call);
  return buffers ? byteSize(buffers->message) : 0;
}

/// Returns what kernels that replace a call work in.
static int64_t countCallScratch(LibraryCall call, int64_t threads) {
  MLIRContext *context = call->getContext();
  CallDescriptor descriptor = CallDescriptor::of(call);
  int64_t bytes = 0;
  // Kernels encode what a bucket sends, and add up squares.
  if (auto buffers = getMessages(call)) {
    SmallVector<MemRefType> types = {buffers->message};
    if (buffers->counts)
      types.push_back(buffers->counts);
    bytes = codegen::countAlignedBytes(types);
  }
  descriptor.match<ingot_shard_desc>([&](const ingot_shard_desc &desc) {
    bytes = codegen::countAlignedBytes(
        codegen::ReductionSplit::ofAll(desc.elements, Float64Type::get(context),
                                       threads)
            .partials);
  });
  return bytes;
}

bool CudaTarget::sumsRows(int64_t rows, int64_t length) const {
  return codegen::RowSums::isSupported(rows, length);
}

int64_t CudaTarget::getScratchBytes(Operation *op) const {
  using namespace codegen;
  int64_t library = Target::getScratchBytes(op);
  auto threads = static_cast<int64_t>(machine.threads);
  if (auto call = dyn_cast<LibraryCall>(op))
    return std::max(library, countCallScratch(call, threads));
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion)
    return library;
  // A generated matmul works in registers and shared memory.
  if (fusion.getKind() == FusionKind::Epilogue && !fusion.getLibraryAttr())
    return 0;
  auto count = [&](const ReductionSpace &space, TypeRange inputs) {
    SmallVector<Type> buffers = llvm::map_to_vector(inputs, [](Type type) {
      return Type(flatType(cast<RankedTensorType>(type)));
    });
    return countAlignedBytes(
        ReductionSplit::of(space, buffers, threads).partials);
  };
  if (fusion.getKind() == FusionKind::Reduction) {
    Block &body = fusion.getBody().front();
    return count(ReductionSpace(body.getTerminator()->getOperands()),
                 body.getArgumentTypes());
  }
  if (fusion.getKind() == FusionKind::Row) {
    Block &body = fusion.getBody().front();
    std::optional<RowSpace> space =
        RowSpace::of(llvm::to_vector_of<Operation *>(
            llvm::make_pointer_range(body.without_terminator())));
    return space ? countAlignedBytes(RowSums::of(body, *space).partials)
                 : library;
  }
  SmallVector<Operation *> extra = fusion.getExtraOps();
  if (extra.empty() || !isa<Reduction>(extra.back()))
    return library;
  SmallVector<Type> read;
  for (Operation *part : extra)
    for (Value operand : part->getOperands())
      if (!llvm::is_contained(extra, operand.getDefiningOp()))
        read.push_back(operand.getType());
  // Partial sums are written when the library's workspace is free again.
  return std::max(library,
                  count(ReductionSpace(extra.back()->getResults()), read));
}

bool CudaTarget::prefersChannelsLast(LibraryCall call) const {
  // Tensor cores require channels last; other kernels are made for channels
  // first.
  CallDescriptor descriptor = CallDescriptor::of(call);
  if (!descriptor.is<ingot_conv_desc>())
    return false;
  auto desc = descriptor.get<ingot_conv_desc>();
  return !desc.channels_last && isOnTensorCores(desc.type, spec.math);
}

// cuBLAS 13, "Narrow Precision Data Types Usage" and "cublasLtMatmul()".
llvm::Expected<std::optional<Float8Matmuls>>
CudaTarget::getFloat8Matmuls(ScaleLayout layout) const {
  unsigned capability = getCapability();
  auto refuse = [&](StringRef why) {
    return llvm::createStringError(getArch() + " " + why);
  };
  if (capability < kFirstOfFloat8)
    return refuse("has no 8-bit floats, which sm_89 was the first to have");
  if (layout == ScaleLayout::Runs && capability != kHopper)
    return refuse("has no matmuls with scales of 128 elements, which only "
                  "sm_90 has");
  if (layout == ScaleLayout::Tiles && capability < kBlackwell)
    return refuse("has no matmuls with scales of 32 elements, which sm_100 was "
                  "the first to have");
  Float8Matmuls matmuls;
  matmuls.sumsLastDim =
      capability < kBlackwell || capability >= kSmallBlackwell;
  return matmuls;
}

RowAlignment CudaTarget::getRowAlignment(Type element) const {
  bool isMultiplied =
      isHalf(element) || (element.isF32() && spec.math == MathMode::TF32);
  // The row alignment in bytes that tensor cores require (cuBLAS 13, "Tensor
  // Core Usage"), and a cache line.
  return isMultiplied ? RowAlignment{/*unit=*/16, /*line=*/128}
                      : RowAlignment();
}

LossChunks CudaTarget::getLossChunks(Type element) const {
  // A chunk of r rows multiplies 6 r c k numbers for the logits and both
  // gradients, and adds to an f32 sum of c x k.
  constexpr double flops = 6, bytes = 8, mostShare = 0.1;
  double rows = bytes * machine.getRate(WorkKind::Matmul, element) /
                (flops * machine.memoryBandwidth * mostShare);
  return {/*onlyForMemory=*/true, static_cast<int64_t>(std::ceil(rows))};
}

namespace {
struct CublasLtEpilogues : EpilogueLibrary {
  std::optional<LibraryEpilogue> match(Operation *call,
                                       const LibraryEpilogueRules &rules,
                                       StringRef &reason) const override {
    return matchLibraryEpilogue(call, rules, reason);
  }
  SmallVector<BiasGradient> findBiasGradients(
      Operation *call,
      const std::optional<LibraryEpilogue> &epilogue) const override {
    return ingot::findBiasGradients(call, epilogue);
  }
};
} // namespace

const EpilogueLibrary *CudaTarget::getEpilogueLibrary() const {
  static const CublasLtEpilogues library;
  return &library;
}

MatmulKernel CudaTarget::describeMatmulKernel(LibraryCall call,
                                              int64_t readBytes,
                                              int64_t writtenBytes) const {
  using namespace gpu_model;
  CallDescriptor descriptor = CallDescriptor::of(call);
  if (!descriptor.is<ingot_matmul_desc>())
    return {"it is not a matmul"};
  auto desc = descriptor.get<ingot_matmul_desc>();
  StringRef reason = codegen::MatmulPlan::refuse(desc, getArch());
  if (reason.empty() && machine.generatedMatmulShare == 0)
    reason = "the machine's profile has no rate for generated matmuls";
  if (!reason.empty())
    return {reason.str()};
  GpuModel model(machine);
  auto plan = codegen::MatmulPlan::choose(desc, machine);
  Matmul matmul = {static_cast<double>(desc.batch), static_cast<double>(desc.m),
                   static_cast<double>(desc.n), static_cast<double>(desc.k),
                   desc.a_type};
  auto bytesOf = [](Value value) {
    return static_cast<double>(byteSize(tensorType(value)));
  };
  double operands = bytesOf(call->getOperand(0)) + bytesOf(call->getOperand(1));
  double product = bytesOf(call->getResult(0));
  bool hasEpilogue = writtenBytes != 0;
  double others =
      hasEpilogue ? static_cast<double>(readBytes + writtenBytes) : product;
  MatmulKernel kernel;
  kernel.seconds = model
                       .getGeneratedMatmul(matmul, plan.tileM, plan.tileN,
                                           Traffic::ofMemory(operands),
                                           Traffic::ofMemory(others))
                       .seconds;
  kernel.librarySeconds =
      model.getMatmul(matmul, Traffic::ofMemory(operands + product)).seconds;
  if (!hasEpilogue)
    return kernel;
  // Half of the cache still has the product when the kernel reads it.
  double missed = std::max(0.0, product - machine.cacheBytes / 2);
  kernel.librarySeconds +=
      model.getKernel(KernelWork(), {others + missed, others + product})
          .seconds;
  return kernel;
}

// cublasLtMatmul() requires it of workspaces ("must be 256B aligned"), and its
// heuristics expect it of matrices.
int64_t CudaTarget::getAlignment() const { return 256; }

int64_t CudaTarget::getStagingBlocks() const { return INGOT_STAGING_BLOCKS; }

//===----------------------------------------------------------------------===//
// Passes and code
//===----------------------------------------------------------------------===//

void CudaTarget::addLegalization(OpPassManager &functions,
                                 LegalizationPoint point,
                                 const LegalizationOptions &options) const {
  if (point == LegalizationPoint::Kernels)
    functions.addPass(createPadConvolutions());
  if (!options.optimizes)
    return;
  switch (point) {
  case LegalizationPoint::Forward:
    functions.addPass(createLegalizeAttention());
    return;
  case LegalizationPoint::Precision:
    // Before compute copies of biases are made.
    functions.addPass(createRoundEpilogues({options.keepFp32}));
    return;
  case LegalizationPoint::Kernels:
    if (options.fusesConvolutions)
      functions.addPass(createFuseConvolutions());
    // This is the last legalization: no other pass handles packed bits.
    functions.addPass(createPackSigns());
    return;
  }
}

void CudaTarget::addDeviceFunctions(OpPassManager &manager,
                                    const Instructions &instructions) {
  manager.addPass(createEmitCudaKernels());
  ExpandMathOptions units;
  units.roundBf16 = units.approximateExp = instructions.math;
  units.roundFloat8 = instructions.float8;
  // Functions are polynomials at every level: there is no C library on a GPU.
  OpPassManager &functions =
      manager.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  addScalarPasses(functions, /*level=*/2, units);
  // Constants have been folded, and bounds are where masks look for them.
  functions.addPass(createSplitMaskedLoops());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

void CudaTarget::addKernelPipeline(OpPassManager &manager, unsigned) const {
  addDeviceFunctions(manager, getInstructions());
  manager.addNestedPass<gpu::GPUModuleOp>(createConvertDeviceKernels());
}

llvm::Expected<DeviceCode> CudaTarget::emitDeviceCode(ModuleOp module) const {
  gpu::GPUModuleOp device = *module.getOps<gpu::GPUModuleOp>().begin();
  auto code = generateDeviceCode(device, getArch());
  if (code)
    device.erase();
  return code;
}

void ingot::registerCudaPipelines() {
  PassPipelineRegistration<>("ingot-cuda-kernels",
                             "from placed steps to GPU functions for CUDA",
                             [](OpPassManager &manager) {
                               CudaTarget::addDeviceFunctions(
                                   manager, {/*math=*/true, /*float8=*/true});
                             });
}
