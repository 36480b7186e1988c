// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/instrumentation/PassDump.h"

#include "dialects/ingot/builders/Builders.h"
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
      write(path(0, "imported"), module);
  }

  void runAfterPass(Pass *pass, Operation *op) override { dump(pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    dump(pass, op);
  }

private:
  /// A pipeline of function passes runs completely on one function after the
  /// other: a file gets what each of them is after the pass.
  void dump(Pass *pass, Operation *op) {
    StringRef name = pass->getArgument();
    if (name.empty())
      return;
    auto [known, isFirst] = numbers.try_emplace(pass, number + 1);
    if (isFirst)
      ++number;
    std::string file = path(known->second, name);
    if (op == module) {
      nested.clear();
      write(file, module);
      return;
    }
    OwningOpRef<ModuleOp> &copy = nested[pass];
    if (!copy)
      copy = module.clone();
    else if (Operation *old = findIn(*copy, op)) {
      OpBuilder(old).clone(*op);
      old->erase();
    }
    write(file, *copy);
  }

  /// Returns the op of a copy of the module with the same name, in a module of
  /// the same name; null if there is none.
  Operation *findIn(Operation *copy, Operation *op) {
    if (op == module)
      return copy;
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    Operation *parent = findIn(copy, op->getParentOp());
    return parent && symbol && symbol.getNameAttr()
               ? SymbolTable::lookupSymbolIn(parent, symbol.getNameAttr())
               : nullptr;
  }

  std::string path(unsigned position, StringRef name) {
    return llvm::formatv("{0}/{1,0+2}-{2}.mlir", directory, position, name);
  }

  /// Whether initial values are so large that the files would fill disks.
  bool isLarge() {
    constexpr int64_t most = 64 << 20;
    int64_t bytes = 0;
    module.walk([&](StateOp state) {
      if (isa<DenseResourceElementsAttr>(state.getInitial()))
        bytes += byteSize(state.getTensorType());
    });
    return bytes > most;
  }

  void write(const std::string &path, Operation *op) {
    std::error_code error = llvm::sys::fs::create_directories(directory);
    if (!error) {
      llvm::raw_fd_ostream file(path, error, llvm::sys::fs::OF_None);
      if (!error) {
        OpPrintingFlags flags;
        flags.assumeVerified();
        if (isLarge())
          flags.elideLargeResourceString(64);
        op->print(file, flags);
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
  /// The module after each of the function passes that run together.
  llvm::DenseMap<const Pass *, OwningOpRef<ModuleOp>> nested;
};

} // namespace

std::unique_ptr<PassInstrumentation>
ingot::createPassDump(const std::string &directory, ModuleOp module,
                      unsigned &number) {
  return std::make_unique<PassDump>(directory, module, number);
}
