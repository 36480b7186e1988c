// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that simplify a graph without changing the values it computes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_PASSES_H
#define INGOT_PASSES_GRAPH_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/OptionValues.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/graph/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"

/// Adds the patterns of `--ingot-simplify` on elementwise arithmetic.
void populateArithmeticSimplifications(mlir::RewritePatternSet &patterns);

/// Adds the patterns of `--ingot-simplify` on contractions and convolutions.
void populateContractionSimplifications(mlir::RewritePatternSet &patterns);

/// Adds the patterns of `--ingot-simplify` on tensors without elements.
void populateEmptySimplifications(mlir::RewritePatternSet &patterns);

/// Adds the patterns of `--ingot-simplify` on loops.
void populateLoopSimplifications(mlir::RewritePatternSet &patterns);

/// Adds the patterns of `--ingot-simplify` on shape ops and reductions.
void populateShapeSimplifications(mlir::RewritePatternSet &patterns);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_PASSES_H
