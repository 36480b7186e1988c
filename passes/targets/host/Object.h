//===----------------------------------------------------------------------===//
//
// From a module in the LLVM dialect to optimized machine code.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_OBJECT_H
#define INGOT_PASSES_TARGETS_HOST_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace ingot {

/// A processor, as LLVM names it and its features.
struct CpuTarget {
  std::string cpu;
  /// Names of features, without sign.
  std::vector<std::string> features;

  /// The processor this runs on.
  static CpuTarget host();
  /// `native`, or a processor by LLVM's name, like `x86-64-v3`; an error where
  /// there is none.
  static llvm::Expected<CpuTarget> byName(llvm::StringRef name);
};

/// Translates to LLVM IR and optimizes for the processor; `level` as in -O0 to
/// -O3.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateForCpu(mlir::ModuleOp module, llvm::LLVMContext &context,
                const CpuTarget &target, unsigned level);

/// The bytes of an ELF object.
llvm::Expected<std::string> emitObject(llvm::Module &module,
                                       const CpuTarget &target, unsigned level);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_OBJECT_H
