#include "passes/Registration.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "passes/autodiff/Passes.h"
#include "passes/graph/Passes.h"

void ingot::registerIngotPasses() {
  registerIngotGraphPasses();
  registerIngotAutodiffPasses();
  registerAutodiffPipeline();
}

void ingot::registerIngotDialects(mlir::DialectRegistry &registry) {
  registry.insert<IngotDialect>();
}
