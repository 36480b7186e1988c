// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lowering from a module in the LLVM dialect to optimized machine code.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_OBJECT_H
#define INGOT_PASSES_TARGETS_HOST_OBJECT_H

#include "dialects/ingot/target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class OptimizationLevel;
class PassBuilder;
} // namespace llvm

namespace ingot {

/// Returns the CPU with that name: `native` for the one this runs on, without
/// what INGOT_MAX_ISA hides, LLVM's name of a CPU, such as `x86-64-v3` or
/// `neoverse-n1`, `aarch64` for any AArch64 CPU, or a version of that
/// architecture, such as `armv8.2-a`; those of AArch64 may be followed by
/// extensions, as in `armv8.2-a+dotprod`. An unknown name is an error. Its
/// features are those of them that trainers look for (runtime/abi/Processor.h):
/// code uses no others.
llvm::Expected<HostProcessor> findProcessor(llvm::StringRef name);

/// Splits `A+B` into names of CPUs, each with its extensions.
std::vector<std::string> splitProcessors(llvm::StringRef names);

/// Runs LLVM's pipeline of that level over a module.
void runDefaultPipeline(llvm::PassBuilder &builder,
                        llvm::OptimizationLevel level, llvm::Module &module);

/// Translates to LLVM IR and optimizes for the CPU; `level` is that of -O0 to
/// -O3.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateForHost(mlir::ModuleOp module, llvm::LLVMContext &context,
                 const HostProcessor &host, unsigned level);

/// Names the module (docs/abi.md) `name`, and makes everything else that the
/// object defines internal, so that objects for several CPUs can be linked.
void renameModule(llvm::Module &module, llvm::StringRef name);

/// Adds the function `NAME_model`, by which programs name the model of a
/// library (runtime/embed): it returns what the library's own `ingot_get_model`
/// does.
void addModelFunction(llvm::Module &module, llvm::StringRef name);

/// Emits the bytes of an ELF object.
llvm::Expected<std::string>
emitObject(llvm::Module &module, const HostProcessor &host, unsigned level);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_OBJECT_H
