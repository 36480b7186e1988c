// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/PassDump.h"

#include "mlir/Pass/Pass.h"
#include "runtime/core/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;

namespace {

class PassDump : public PassInstrumentation {
public:
  PassDump(std::string directory, ModuleOp module, unsigned &number)
      : directory(std::move(directory)), module(module), number(number) {
    if (number == 0)
      write(path(0, "imported"), module, llvm::sys::fs::OF_None);
  }

  void runAfterPass(Pass *pass, Operation *op) override { dump(pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    dump(pass, op);
  }

private:
  void dump(Pass *pass, Operation *op) {
    StringRef name = pass->getArgument();
    if (name.empty())
      return;
    // A pipeline of function passes runs completely on one function after the
    // other.
    auto [known, isFirst] = numbers.try_emplace(pass, number + 1);
    if (isFirst)
      ++number;
    write(path(known->second, name), op,
          isFirst ? llvm::sys::fs::OF_None : llvm::sys::fs::OF_Append);
  }

  std::string path(unsigned position, StringRef name) {
    return llvm::formatv("{0}/{1,0+2}-{2}.mlir", directory, position, name);
  }

  void write(const std::string &path, Operation *op,
             llvm::sys::fs::OpenFlags flags) {
    std::error_code error = llvm::sys::fs::create_directories(directory);
    if (!error) {
      llvm::raw_fd_ostream file(path, error, flags);
      if (!error) {
        op->print(file, OpPrintingFlags()
                            .elideLargeElementsAttrs(16)
                            .elideLargeResourceString(64)
                            .useLocalScope()
                            .assumeVerified());
        file << "\n";
        file.close();
        error = file.error();
        // Or LLVM ends the program.
        file.clear_error();
      }
    }
    if (error)
      throw runtime::failure("--dump-passes",
                             "cannot write " + path + ": " + error.message(),
                             "choose a directory that can be written");
  }

  std::string directory;
  ModuleOp module;
  unsigned &number;
  llvm::DenseMap<const Pass *, unsigned> numbers;
};

} // namespace

std::unique_ptr<PassInstrumentation>
ingot::createPassDump(const std::string &directory, ModuleOp module,
                      unsigned &number) {
  return std::make_unique<PassDump>(directory, module, number);
}
