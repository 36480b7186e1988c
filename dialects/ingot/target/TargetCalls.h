// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The calls of libraries that the runtime of a target executes, and the forms
// of matmuls, convolutions and attention for which these are fastest: what
// passes ask before they decide on library calls.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGETCALLS_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGETCALLS_H

#include "dialects/ingot/ir/AttentionSizes.h"
#include "dialects/ingot/ir/Interfaces.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/Error.h"

namespace ingot {

/// Whether an entry point of the target's runtime executes a library call.
struct LibrarySupport {
  /// The reason why it does not; empty if it does.
  std::string reason;
  /// Scratch memory in bytes that the call needs while it runs.
  int64_t scratchBytes = 0;
  /// How it multiplies, as its descriptor says.
  ingot_math math = INGOT_MATH_EXACT;
  /// Why it multiplies that way, for a remark: a literal, empty where there is
  /// no choice.
  llvm::StringLiteral mathReason = "";

  explicit operator bool() const { return reason.empty(); }
};

/// An attention that may become one library call.
struct AttentionQuery {
  AttentionSizes sizes;
  /// The bounds of the keys that a query attends to, as in `ingot.attention`.
  int64_t left, right;
  /// The element type that the attention will be computed in.
  mlir::Type element;
  /// Whether there is a mask other than bounds, and whether there is a bias,
  /// mask or lengths.
  bool hasMask = false, hasTerms = false;
  bool hasDropout = false;
  /// Whether the log-sum-exp has other readers than the gradient.
  bool readsLse = false;
};

/// The lengths of matmul rows, in bytes, that the target prefers.
struct RowAlignment {
  /// Rows of a multiple of `unit` bytes are accessed efficiently; other rows
  /// are padded to a multiple of `line`. A unit of 0 means that there is no
  /// preference.
  int64_t unit = 0, line = 0;
};

/// How losses over many rows are computed in chunks (--ingot-chunk-loss).
struct LossChunks {
  /// Whether only a memory budget is reason enough.
  bool onlyForMemory = false;
  /// The least number of rows of a chunk. On a CPU it depends on no machine:
  /// chunks determine the order in which gradients are summed.
  int64_t minRows = 256;
};

/// How a target multiplies matrices of 8-bit floats in memory.
struct Float8Matmuls {
  /// Whether the dimension that is summed has to be the last one of both.
  bool sumsLastDim = false;
};

/// The library calls of a target.
class TargetCalls {
public:
  virtual ~TargetCalls();

  /// Returns whether an entry point executes `call`, and the resources that it
  /// then needs.
  virtual LibrarySupport getSupport(LibraryCall call) const = 0;
  /// Returns whether attention of this element type can be a library call at
  /// all.
  virtual bool hasAttention(mlir::Type element) const = 0;
  /// Returns why an attention cannot be a library call; empty if it can.
  virtual std::string refuseAttention(const AttentionQuery &query) const;
  /// Returns how the target multiplies matrices of 8-bit floats, those that are
  /// no parameters with scales of this layout; nothing if it has no such
  /// matmuls, so that numbers are only rounded to 8 bits. Where it has them
  /// with other scales, or on other architectures, the error says so.
  virtual llvm::Expected<std::optional<Float8Matmuls>>
  getFloat8Matmuls(ScaleLayout layout) const;
  /// Returns whether a convolution is fastest with channels as the last
  /// dimension.
  virtual bool prefersChannelsLast(LibraryCall call) const = 0;
  /// Returns whether filters are permuted with the tensors that they are
  /// applied to.
  virtual bool permutesFilters() const { return false; }
  virtual RowAlignment getRowAlignment(mlir::Type element) const;
  virtual LossChunks getLossChunks(mlir::Type element) const;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGETCALLS_H
