// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions that the fuzzers of the importers share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FUZZ_IMPORTERS_IMPORTER_H
#define INGOT_TEST_FUZZ_IMPORTERS_IMPORTER_H

#include "dialects/ingot/ir/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace ingot::fuzz {

/// Writes the bytes to a file in memory and calls `read` with its path. Aborts
/// if it fails without an error and a hint.
inline void
readFile(const uint8_t *data, size_t size,
         llvm::function_ref<llvm::LogicalResult(llvm::StringRef,
                                                mlir::MLIRContext &)>
             read) {
  int file = memfd_create("input", 0);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size))
    std::abort();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  bool explains = false;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        printUserDiagnostic(stream, diagnostic);
        explains |= llvm::StringRef(text).starts_with("error: ") &&
                    llvm::StringRef(text).contains("\nhint: ");
      });
  std::string path = "/proc/self/fd/" + std::to_string(file);
  if (failed(read(path, context)) && !explains) {
    llvm::errs() << "failed without an error and a hint\n";
    std::abort();
  }
  close(file);
}

} // namespace ingot::fuzz

#endif // INGOT_TEST_FUZZ_IMPORTERS_IMPORTER_H
