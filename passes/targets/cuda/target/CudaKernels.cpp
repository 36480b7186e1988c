// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaKernels.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "passes/cost/gpu/GpuModel.h"
#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"
#include "passes/targets/cuda/matmul/MatmulPlan.h"

using namespace mlir;
using namespace ingot;

bool CudaKernels::sumsRows(int64_t rows, int64_t length) const {
  return codegen::RowSums::isSupported(rows, length);
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

const EpilogueLibrary *CudaKernels::getEpilogueLibrary() const {
  static const CublasLtEpilogues library;
  return &library;
}

MatmulKernel CudaKernels::describeMatmulKernel(LibraryCall call,
                                               int64_t readBytes,
                                               int64_t writtenBytes) const {
  using namespace gpu_model;
  CallDescriptor descriptor = CallDescriptor::of(call);
  if (!descriptor.is<ingot_matmul_desc>())
    return {"it is not a matmul"};
  auto desc = descriptor.get<ingot_matmul_desc>();
  const Machine &machine = gpu.getMachine();
  StringRef reason = codegen::MatmulPlan::refuse(desc, gpu.getArch());
  if (reason.empty() && machine.getGpu().generatedMatmulShare == 0)
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

MatmulChoice CudaKernels::getMatmulChoice() const {
  std::optional<StringRef> kernels = gpu.getOption("matmul-kernels");
  return kernels == "own"       ? MatmulChoice::Always
         : kernels == "library" ? MatmulChoice::Never
                                : MatmulChoice::Faster;
}
