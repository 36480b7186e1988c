// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/RunCompiler.h"

#include "runtime/core/Error.h"
#include "tools/ingotc/checks/CheckPaths.h"
#include "tools/ingotc/compile/Compiler.h"
#include "tools/ingotc/compile/MeasuredProfile.h"
#include "tools/ingotc/plan/AutoPlan.h"
#include "tools/ingotc/tune/FitBatch.h"
#include "tools/ingotc/tune/Trials.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;

int ingot::runCompiler(CompilerOptions options) {
  checkPaths(options);
  if (options.planning)
    return planAutomatically(options);
  if (options.tuning)
    return tune(options);
  if (options.fitBytes) {
    int64_t peak = 0, batch = 0;
    if (int status = findBatch(options, batch, peak))
      return status;
    if (batch == 0)
      throw runtime::usageError(
          "--fit", "one sample takes " + std::to_string(peak) + " bytes",
          "allow that much, or recompute with --memory-budget");
    options.import.batch = batch;
    if (!options.printPipeline)
      llvm::outs() << llvm::formatv("batch {0}: {1} bytes at the peak\n", batch,
                                    peak);
  }
  if (options.printPipeline) {
    resolveMachine(*options.pipeline);
    llvm::outs() << printPipeline(options) << "\n";
    return 0;
  }
  if (options.fitBytes && options.output.empty())
    return 0;
  return compile(std::move(options));
}
