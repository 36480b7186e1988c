// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// ingot-tblgen: generates sources and documentation from the records of the
// ABI and of the manifest.
//===----------------------------------------------------------------------===//

#include "llvm/TableGen/Main.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "generators of the ABI (runtime/abi)\n");
  return llvm::TableGenMain(argv[0], llvm::TableGenMainFn());
}
