// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc: compiles an ONNX model into a trainer.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "tools/ingotc/Compiler.h"

#include <new>

using namespace ingot;

int main(int argc, char **argv) {
  runtime::Console console;
  try {
    if (auto options = parseCompilerOptions(argc, argv))
      return compile(std::move(*options));
    return 0;
  } catch (const runtime::Error &error) {
    console.print(error);
    return static_cast<int>(error.getCode());
  } catch (const std::bad_alloc &) {
    console.print(runtime::failure("memory", "out of memory",
                                   "free memory, or compile a smaller model"));
  } catch (const std::exception &error) {
    console.print(runtime::failure("internal", error.what(),
                                   "report this with the command line"));
  }
  return static_cast<int>(runtime::ExitCode::Failed);
}
