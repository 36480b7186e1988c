#include "passes/Registration.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/DialectRegistry.h"

void ingot::registerIngotPasses() {}

void ingot::registerIngotDialects(mlir::DialectRegistry &registry) {
  registry.insert<IngotDialect>();
}
