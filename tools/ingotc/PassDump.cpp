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
    write("imported", number == 0);
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
    // The same pass on the next function writes over the file it wrote.
    bool again = name == last && !isa<ModuleOp>(op);
    last = name.str();
    if (!again)
      ++number;
    write(name, true);
  }

  void write(StringRef name, bool wanted) {
    if (!wanted)
      return;
    std::error_code error = llvm::sys::fs::create_directories(directory);
    std::string path =
        llvm::formatv("{0}/{1,0+2}-{2}.mlir", directory, number, name);
    if (!error) {
      llvm::raw_fd_ostream file(path, error);
      if (!error)
        module->print(file, OpPrintingFlags()
                                .elideLargeElementsAttrs(16)
                                .elideLargeResourceString(64)
                                .assumeVerified());
    }
    if (error)
      throw runtime::failure("--dump-passes",
                             "cannot write " + path + ": " + error.message(),
                             "choose a directory that can be written");
  }

  std::string directory;
  ModuleOp module;
  unsigned &number;
  std::string last;
};

} // namespace

std::unique_ptr<PassInstrumentation>
ingot::createPassDump(const std::string &directory, ModuleOp module,
                      unsigned &number) {
  return std::make_unique<PassDump>(directory, module, number);
}
