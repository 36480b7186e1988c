// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaCalls.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "passes/targets/cuda/convolutions/LibraryFusion.h"
#include "passes/targets/cuda/target/LibraryScratch.h"

#include <cmath>

using namespace mlir;
using namespace ingot;

static bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

/// Returns whether tensor cores multiply the type; f32 is then rounded to TF32.
static bool isOnTensorCores(int32_t type, bool roundsF32) {
  return type == INGOT_BF16 || type == INGOT_F16 ||
         (type == INGOT_F32 && roundsF32);
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

bool CudaCalls::hasAttention(Type element) const { return isHalf(element); }

std::string CudaCalls::refuseAttention(const AttentionQuery &query) const {
  if (query.hasTerms || query.hasDropout)
    if (query.readsLse)
      return "the log-sum-exp is used; the library's differs for fully masked "
             "rows and ignores dropout";
  if (query.hasMask)
    return "the library does not support masks";
  return refuseSizes(query.sizes, query.left, query.right).str();
}

/// TF32 where the target may round f32 to it.
static ingot_math getMath(bool isF32, const GpuSpec &gpu) {
  return isF32 && gpu.roundsF32() ? INGOT_MATH_TF32 : INGOT_MATH_EXACT;
}

static LibrarySupport describeSupport(const ingot_matmul_desc &desc,
                                      LibraryCall, const GpuSpec &gpu) {
  bool isF32 = desc.a_type == INGOT_F32 && desc.b_type == INGOT_F32 &&
               desc.c_type == INGOT_F32;
  return {"", gpu.getWorkspaceBytes(), getMath(isF32, gpu)};
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
                                      LibraryCall call, const GpuSpec &gpu) {
  if (isWrongInLibrary(desc, call))
    return {"the library's gradient by the filter is wrong in groups with "
            "other padding before than after"};
  return {"",
          gpu.getWorkspaceBytes() + cuda::getCopyBytes(desc, gpu.roundsF32()),
          getMath(desc.type == INGOT_F32, gpu)};
}

static LibrarySupport describeSupport(const ingot_attention_desc &desc,
                                      LibraryCall call, const GpuSpec &gpu) {
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
  int64_t bytes = gpu.getWorkspaceBytes() + cuda::getSumBytes(desc);
  if (isGradient)
    bytes += cuda::getScoreBytes(desc);
  return {"", bytes};
}

static LibrarySupport describeSupport(const ingot_compress_desc &, LibraryCall,
                                      const GpuSpec &) {
  return {"generated kernels compress on GPUs"};
}

LibrarySupport CudaCalls::getSupport(LibraryCall call) const {
  if (StringRef reason = call.refuseCall(); !reason.empty())
    return {reason.str()};
  if (isa<ConvStatisticsOp, ConvScaledFilterGradOp>(call.getOperation())) {
    auto desc = CallDescriptor::of(call).get<ingot_conv_desc>();
    if (StringRef reason = cuda::refuseFusion(desc, gpu.getCapability());
        !reason.empty())
      return {reason.str()};
  }
  // Collectives and the sum of squares of a shard need nothing.
  LibrarySupport support;
  CallDescriptor::of(call)
      .match<ingot_matmul_desc, ingot_conv_desc, ingot_attention_desc,
             ingot_compress_desc>([&](const auto &desc) {
        support = describeSupport(desc, call, gpu);
      });
  return support;
}

bool CudaCalls::prefersChannelsLast(LibraryCall call) const {
  // Tensor cores require channels last; other kernels are made for channels
  // first.
  CallDescriptor descriptor = CallDescriptor::of(call);
  if (!descriptor.is<ingot_conv_desc>())
    return false;
  auto desc = descriptor.get<ingot_conv_desc>();
  return !desc.channels_last && isOnTensorCores(desc.type, gpu.roundsF32());
}

// cuBLAS 13, "Narrow Precision Data Types Usage" and "cublasLtMatmul()".
llvm::Expected<std::optional<Float8Matmuls>>
CudaCalls::getFloat8Matmuls(ScaleLayout layout) const {
  unsigned capability = gpu.getCapability();
  auto refuse = [&](StringRef why) {
    return llvm::createStringError(gpu.getArch() + " " + why);
  };
  if (capability < GpuSpec::kFirstOfFloat8)
    return refuse("has no 8-bit floats, which sm_89 was the first to have");
  if (layout == ScaleLayout::Runs && capability != GpuSpec::kHopper)
    return refuse("has no matmuls with scales of 128 elements, which only "
                  "sm_90 has");
  if (layout == ScaleLayout::Tiles && capability < GpuSpec::kBlackwell)
    return refuse("has no matmuls with scales of 32 elements, which sm_100 was "
                  "the first to have");
  Float8Matmuls matmuls;
  matmuls.sumsLastDim = capability < GpuSpec::kBlackwell ||
                        capability >= GpuSpec::kSmallBlackwell;
  return matmuls;
}

RowAlignment CudaCalls::getRowAlignment(Type element) const {
  bool isMultiplied = isHalf(element) || (element.isF32() && gpu.roundsF32());
  // The row alignment in bytes that tensor cores require (cuBLAS 13, "Tensor
  // Core Usage"), and a cache line.
  return isMultiplied ? RowAlignment{/*unit=*/16, /*line=*/128}
                      : RowAlignment();
}

LossChunks CudaCalls::getLossChunks(Type element) const {
  // A chunk of r rows multiplies 6 r c k numbers for the logits and both
  // gradients, and adds to an f32 sum of c x k.
  constexpr double flops = 6, bytes = 8, mostShare = 0.1;
  double rows = bytes * gpu.getMachine().getRate(WorkKind::Matmul, element) /
                (flops * gpu.getMachine().memoryBandwidth * mostShare);
  return {/*onlyForMemory=*/true, static_cast<int64_t>(std::ceil(rows))};
}
