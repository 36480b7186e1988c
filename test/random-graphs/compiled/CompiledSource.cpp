// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Modules that tests write as text, compiled and loaded into this process.
//
//===----------------------------------------------------------------------===//

#include "test/random-graphs/compiled/CompiledSource.h"

#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace ingot;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerIngotDialects(registry);
  return registry;
}

CompiledSource::CompiledSource(llvm::StringRef source)
    : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(source, &context);
  EXPECT_TRUE(module) << source.str();
}

void CompiledSource::compile(llvm::function_ref<void(PassManager &)> addPasses,
                             llvm::StringRef target) {
  if (!module)
    return;
  PassManager passes(&context);
  addPasses(passes);
  if (failed(passes.run(*module))) {
    ADD_FAILURE() << "a pass failed";
    return;
  }
  PipelineOptions options;
  options.target = target.str();
  auto built = CompiledModule::compile(*module, options);
  if (built)
    compiled = std::move(*built);
  else
    ADD_FAILURE() << llvm::toString(built.takeError());
}

CompiledSource &
CompiledSource::share(llvm::StringRef source, llvm::StringRef target,
                      llvm::function_ref<void(PassManager &)> addPasses) {
  static std::map<std::pair<std::string, std::string>,
                  std::unique_ptr<CompiledSource>>
      all;
  std::unique_ptr<CompiledSource> &known = all[{source.str(), target.str()}];
  if (!known) {
    known = std::make_unique<CompiledSource>(source);
    known->compile(addPasses, target);
  }
  return *known;
}
