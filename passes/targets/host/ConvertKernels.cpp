// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// ConvertKernels: converts kernels to the LLVM dialect, and leaves steps
// unchanged.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/codegen/Booleans.h"
#include "passes/targets/host/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_CONVERTKERNELS
#include "passes/targets/host/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct ConvertKernels : ingot::impl::ConvertKernelsBase<ConvertKernels> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(context, options);
    // At this point values of the type are only moved (see
    // --ingot-expand-math), and LLVM would round its bfloat by library calls in
    // unexpected places.
    types.addConversion([](BFloat16Type type) {
      return IntegerType::get(type.getContext(), 16);
    });

    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    // Steps are lowered later, bodies and all.
    target.addLegalDialect<exec::ExecDialect, IngotDialect>();

    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/
                                         false, /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    // A step calls a kernel at one place. Within the step its pointers would
    // be compared with those of all other kernels, which takes LLVM more than
    // linear time and tells it nothing.
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!kernel.isDeclaration())
        kernel.setNoInline(true);
    codegen::widenBooleans(getOperation());
  }
};
} // namespace
