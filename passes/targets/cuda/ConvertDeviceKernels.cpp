//===----------------------------------------------------------------------===//
// Device functions into the LLVM and NVVM dialects.
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/codegen/Booleans.h"
#include "passes/targets/cuda/Passes.h"
#include "runtime/abi/Abi.h"

namespace ingot {
#define GEN_PASS_DEF_CONVERTDEVICEKERNELS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A call of libdevice, whose functions on f32 end in `f`.
template <typename Op> struct CallLibdevice : OpRewritePattern<Op> {
  CallLibdevice(MLIRContext *context, StringRef name)
      : OpRewritePattern<Op>(context, /*benefit=*/2), name(name) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return failure();
    std::string symbol = ("__nv_" + name + (type.isF32() ? "f" : "")).str();
    auto module = op->template getParentOfType<gpu::GPUModuleOp>();
    SmallVector<Type> arguments(op->getNumOperands(), type);
    auto signature = LLVM::LLVMFunctionType::get(type, arguments);
    if (!module.lookupSymbol(symbol)) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      LLVM::LLVMFuncOp::create(rewriter, module.getLoc(), symbol, signature);
    }
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, type, symbol,
                                              op->getOperands());
    return success();
  }

  StringRef name;
};

/// Adds what instructions of the device do not compute.
void addLibdevice(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<CallLibdevice<math::ExpOp>>(context, "exp");
  patterns.add<CallLibdevice<math::LogOp>>(context, "log");
  patterns.add<CallLibdevice<math::Log1pOp>>(context, "log1p");
  patterns.add<CallLibdevice<math::TanhOp>>(context, "tanh");
  patterns.add<CallLibdevice<math::ErfOp>>(context, "erf");
  patterns.add<CallLibdevice<math::SinOp>>(context, "sin");
  patterns.add<CallLibdevice<math::CosOp>>(context, "cos");
  patterns.add<CallLibdevice<math::PowFOp>>(context, "pow");
}

struct ConvertDeviceKernels
    : ingot::impl::ConvertDeviceKernelsBase<ConvertDeviceKernels> {
  void runOnOperation() override {
    // 32 bits are enough for indices of most functions, and faster.
    SmallVector<Operation *> small, large;
    for (auto function : getOperation().getOps<gpu::GPUFuncOp>())
      (hasSmallBuffers(function) ? small : large).push_back(function);
    if (failed(convert(small, /*indexBits=*/32)) ||
        failed(convert(large, /*indexBits=*/64)))
      return signalPassFailure();
    codegen::widenBooleans(getOperation());
    // What the arena's layout promises, for accesses of 16 bytes.
    OpBuilder builder(&getContext());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isa<LLVM::LLVMPointerType>(function.getArgumentTypes()[i]))
          function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                              builder.getI64IntegerAttr(INGOT_ALIGNMENT));
  }

private:
  static bool hasSmallBuffers(gpu::GPUFuncOp function) {
    return llvm::all_of(function.getArgumentTypes(), [](Type type) {
      auto buffer = dyn_cast<MemRefType>(type);
      return !buffer || buffer.getNumElements() < int64_t(1) << 31;
    });
  }

  LogicalResult convert(ArrayRef<Operation *> functions, unsigned indexBits) {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    options.overrideIndexBitwidth(indexBits);
    LLVMTypeConverter types(context, options);
    configureGpuToNVVMTypeConverter(types);
    // Only moved around by now (see --ingot-expand-math).
    types.addConversion([](BFloat16Type type) {
      return IntegerType::get(type.getContext(), 16);
    });

    LLVMConversionTarget target(*context);
    configureGpuToNVVMConversionLegality(target);
    RewritePatternSet patterns(context);
    addLibdevice(patterns);
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
