// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `ingot` dialect: ops of all families, attributes, and the names of the
// attributes that functions carry.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_DIALECT_H
#define INGOT_DIALECTS_INGOT_IR_DIALECT_H

#include "dialects/ingot/ir/AttentionSizes.h"
#include "dialects/ingot/ir/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/ingot/Enums.h.inc"
#include "dialects/ingot/ir/Dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/ingot/Attributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/Ops.h.inc"

namespace ingot {

/// Names of the attributes on arguments and results of functions.
inline constexpr llvm::StringLiteral kStateAttr = "ingot.state";
inline constexpr llvm::StringLiteral kSlotAttr = "ingot.slot";
inline constexpr llvm::StringLiteral kNameAttr = "ingot.name";
inline constexpr llvm::StringLiteral kKindAttr = "ingot.kind";
/// The number of classes that labels refer to.
inline constexpr llvm::StringLiteral kClassesAttr = "ingot.classes";
/// On a result between differentiation and the optimizer: the parameter whose
/// gradient the result is.
inline constexpr llvm::StringLiteral kGradientAttr = "ingot.gradient";

/// Names of the attributes on a module, which the dialect verifies.
/// `kTargetAttr` is a TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "ingot.target";
inline constexpr llvm::StringLiteral kModelAttr = "ingot.model";
/// The loss in the words of `--loss`, for people; and its terms, an array of
/// LossTermAttr.
inline constexpr llvm::StringLiteral kLossAttr = "ingot.loss";
inline constexpr llvm::StringLiteral kLossTermsAttr = "ingot.loss_terms";
/// The names of the metrics of evaluations and of training steps.
inline constexpr llvm::StringLiteral kMetricsAttr = "ingot.metrics";
inline constexpr llvm::StringLiteral kTrainMetricsAttr = "ingot.train_metrics";
/// The names of the inputs of tokens that the model shifts itself.
inline constexpr llvm::StringLiteral kShiftedLabelsAttr =
    "ingot.shifted_labels";
inline constexpr llvm::StringLiteral kPrecisionAttr = "ingot.precision";
/// Unit attribute of modules whose steps average gradients over ranks.
inline constexpr llvm::StringLiteral kDataParallelAttr = "ingot.data_parallel";
inline constexpr llvm::StringLiteral kOptimizerAttr = "ingot.optimizer";
inline constexpr llvm::StringLiteral kBatchAttr = "ingot.batch";
/// On a module whose functions have variants for several sizes of symbolic
/// dimensions: the names of the variants in order. The functions of the variant
/// V are called `train_step[V]` and so on.
inline constexpr llvm::StringLiteral kVariantsAttr = "ingot.variants";
/// The samples of a micro-batch of each variant, where they differ.
inline constexpr llvm::StringLiteral kBatchesAttr = "ingot.batches";
/// The checksum of the file of weights beside the trainer.
inline constexpr llvm::StringLiteral kWeightsCrcAttr = "ingot.weights_crc32";
/// The number of micro-batches per step; absent for one.
inline constexpr llvm::StringLiteral kGradAccumulationAttr =
    "ingot.grad_accumulation";
/// The number of initial steps that exchange uncompressed gradients, where
/// later steps compress them.
inline constexpr llvm::StringLiteral kUncompressedStepsAttr =
    "ingot.uncompressed_steps";
/// An array of {name, default} in the order of the step's arguments.
inline constexpr llvm::StringLiteral kHyperparametersAttr =
    "ingot.hyperparameters";

/// Names of the functions of a module.
inline constexpr llvm::StringLiteral kForwardName = "forward";
inline constexpr llvm::StringLiteral kTrainStepName = "train_step";
/// The training step for all micro-batches except the last, and the one for the
/// initial steps without compression.
inline constexpr llvm::StringLiteral kAccumulateStepName = "accumulate_step";
inline constexpr llvm::StringLiteral kUncompressedStepName =
    "uncompressed_step";
inline constexpr llvm::StringLiteral kEvalStepName = "eval_step";
inline constexpr llvm::StringLiteral kPredictName = "predict";

/// The state that holds the loss scale, see --ingot-scale-loss.
inline constexpr llvm::StringLiteral kLossScaleName = "loss_scale";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_DIALECT_H
