// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// ConvertDeviceKernels: converts GPU functions to the LLVM and NVVM dialects.
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/codegen/Booleans.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/matmul/DeviceMatmul.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_CONVERTDEVICEKERNELS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Returns whether an instruction computes the op exactly: MLIR's own lowering
/// to LLVM emits it.
bool isInstruction(StringRef op) {
  static const llvm::StringSet<> ops = {
      math::AbsFOp::getOperationName(),
      math::AbsIOp::getOperationName(),
      math::CeilOp::getOperationName(),
      math::CopySignOp::getOperationName(),
      math::FloorOp::getOperationName(),
      math::FmaOp::getOperationName(),
      math::RoundEvenOp::getOperationName(),
      math::RsqrtOp::getOperationName(),
      math::SqrtOp::getOperationName(),
      math::TruncOp::getOperationName(),
  };
  return ops.contains(op);
}

/// Adds those patterns of `from` that convert ops of the math dialect, either
/// instructions or others.
void addMath(RewritePatternSet &patterns, RewritePatternSet &from,
             bool instructions) {
  for (std::unique_ptr<RewritePattern> &pattern : from.getNativePatterns()) {
    std::optional<OperationName> root = pattern->getRootKind();
    if (root && root->getDialectNamespace() == "math" &&
        isInstruction(root->getStringRef()) == instructions)
      patterns.add(std::move(pattern));
  }
}

/// Adds instructions, and calls of libdevice for all other functions. MLIR's
/// patterns for GPUs, which are added as well, call libdevice for all: its
/// square root is an approximation.
void addMath(const LLVMTypeConverter &types, RewritePatternSet &patterns) {
  RewritePatternSet calls(patterns.getContext());
  populateLibDeviceConversionPatterns(types, calls, /*benefit=*/2);
  addMath(patterns, calls, /*instructions=*/false);
  RewritePatternSet exact(patterns.getContext());
  populateMathToLLVMConversionPatterns(types, exact, /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  addMath(patterns, exact, /*instructions=*/true);
}

/// Rounds by an instruction, which takes a pair of numbers and saturates.
struct RoundToFloat8 : ConvertOpToLLVMPattern<arith::TruncFOp> {
  RoundToFloat8(const LLVMTypeConverter &types)
      : ConvertOpToLLVMPattern(types, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type to = op.getType();
    if (!isa<Float8E4M3FNType, Float8E5M2Type>(to) ||
        !op.getIn().getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value zero = LLVM::ConstantOp::create(rewriter, loc, rewriter.getF32Type(),
                                          rewriter.getF32FloatAttr(0));
    // The second number becomes the lower byte.
    Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
        rewriter, loc, rewriter.getI16Type(), zero, adaptor.getIn(),
        NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
        /*relu=*/false, to);
    rewriter.replaceOpWithNewOp<LLVM::TruncOp>(op, rewriter.getI8Type(), pair);
    return success();
  }
};

struct ConvertDeviceKernels
    : ingot::impl::ConvertDeviceKernelsBase<ConvertDeviceKernels> {
  void runOnOperation() override {
    // 32-bit indices are enough for most functions, and faster.
    SmallVector<Operation *> small, large;
    for (auto function : getOperation().getOps<gpu::GPUFuncOp>())
      (hasSmallBuffers(function) ? small : large).push_back(function);
    if (failed(convert(small, /*indexBits=*/32)) ||
        failed(convert(large, /*indexBits=*/64)))
      return signalPassFailure();
    codegen::widenBooleans(getOperation());
    // The alignment that the arena guarantees, for accesses of 16 bytes.
    OpBuilder builder(&getContext());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isa<LLVM::LLVMPointerType>(function.getArgumentTypes()[i]))
          function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                              builder.getI64IntegerAttr(INGOT_ALIGNMENT));
      passTensorMaps(function);
    }
  }

private:
  /// Tensor maps are parameters themselves, and not pointers.
  static void passTensorMaps(LLVM::LLVMFuncOp function) {
    auto maps = dyn_cast_or_null<IntegerAttr>(
        function->removeAttr(codegen::kTensorMapsAttr));
    OpBuilder builder(function.getContext());
    auto type =
        LLVM::LLVMArrayType::get(builder.getI8Type(), codegen::kTensorMapBytes);
    for (unsigned i = 0; maps && i < maps.getInt(); ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(type));
      function.setArgAttr(
          i, LLVM::LLVMDialect::getAlignAttrName(),
          builder.getI64IntegerAttr(codegen::kTensorMapAlignment));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                          builder.getUnitAttr());
    }
  }

  /// Whether 32 bits are enough: a loop adds a step of up to 2^24 to an index
  /// before it compares.
  static bool hasSmallBuffers(gpu::GPUFuncOp function) {
    return llvm::all_of(function.getArgumentTypes(), [](Type type) {
      auto buffer = dyn_cast<MemRefType>(type);
      return !buffer || buffer.getNumElements() <= int64_t(1) << 30;
    });
  }

  LogicalResult convert(ArrayRef<Operation *> functions, unsigned indexBits) {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    options.overrideIndexBitwidth(indexBits);
    LLVMTypeConverter types(context, options);
    configureGpuToNVVMTypeConverter(types);
    // At this point values of the type are only moved (see
    // --ingot-expand-math).
    types.addConversion([](BFloat16Type type) {
      return IntegerType::get(type.getContext(), 16);
    });

    LLVMConversionTarget target(*context);
    configureGpuToNVVMConversionLegality(target);
    // It would have libdevice called for these as well.
    target.addLegalOp<LLVM::CopySignOp, LLVM::FAbsOp, LLVM::FCeilOp,
                      LLVM::FFloorOp, LLVM::RoundEvenOp, LLVM::SqrtOp>();
    // Its instruction has no intrinsic function.
    target.addIllegalOp<NVVM::WgmmaMmaAsyncOp>();
    RewritePatternSet patterns(context);
    populateNVVMToLLVMConversionPatterns(patterns);
    addMath(types, patterns);
    patterns.add<RoundToFloat8>(types);
    populateSCFToControlFlowConversionPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns,
                                         /*approximateLog1p=*/false);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateGpuToNVVMConversionPatterns(types, patterns);
    return applyPartialConversion(functions, target, std::move(patterns));
  }
};

} // namespace
