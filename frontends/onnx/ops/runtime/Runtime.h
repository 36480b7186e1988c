// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The operators that ONNX Runtime's optimizers write in the place of standard
// ones, by family.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_RUNTIME_RUNTIME_H
#define INGOT_FRONTENDS_ONNX_OPS_RUNTIME_RUNTIME_H

#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

void registerFusions(Registry &registry);
void registerSkipNorms(Registry &registry);
void registerRuntimeAttention(Registry &registry);
void registerRotaryEmbedding(Registry &registry);

/// Returns the product of FusedMatMul: alpha A B, of which either may be
/// transposed.
llvm::FailureOr<mlir::Value> importFusedProduct(Node &node);

/// Returns heads [batch, sequence, heads, size] turned by the angles of their
/// positions. Caches of cosines and sines are [positions, half the dimensions
/// that turn], or with `positions` null [batch, sequence, half]; positions are
/// [batch, sequence].
llvm::FailureOr<mlir::Value> rotate(Node &node, mlir::Value heads,
                                    mlir::Value cosines, mlir::Value sines,
                                    mlir::Value positions, bool interleaved);

/// Returns integers [batch, sequence] that count along the sequence.
mlir::Value countPositions(Node &node, int64_t batch, int64_t sequence);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_RUNTIME_RUNTIME_H
