// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Recipes of inputs that hold sequences of any length, several in a row or one
// with padding, and of the inputs that say where these begin and end.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_RECIPES_SEQUENCERECIPE_H
#define INGOT_RUNTIME_DATA_RECIPES_SEQUENCERECIPE_H

#include "runtime/core/Manifest.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::runtime {

/// The values of an input for the sequences in a row.
enum class SequenceRole {
  /// The sequences by which rows are laid out.
  Tokens,
  /// Another field, with an element for each token.
  Along,
  /// The token that follows each one in its sequence.
  Next,
  /// The tokens themselves, without the first one of each sequence: labels of a
  /// model that shifts them itself.
  Labels,
  /// The positions in the sequences, from 0.
  Positions,
  /// The numbers of the sequences, from 1; padding has 0.
  Segments,
  /// 1 for tokens, 0 for padding.
  Present,
  /// Which tokens see which: those of the same sequence.
  Diagonal
};

/// The part of a recipe that is about sequences.
struct SequenceRecipe {
  SequenceRole role = SequenceRole::Tokens;
  /// Whether rows hold several sequences; else one each.
  bool isPacked = false;
  /// The input whose sequences these are; empty for those themselves.
  std::string of;
  /// How many sequences are laid out together.
  int64_t window = 1024;
  /// The element where there is no token, if one was given.
  std::optional<int64_t> padding;
  /// The token by which files of tokens are split into sequences.
  std::optional<int64_t> separator;
  /// Whether what does not fit in a row is left out.
  bool isCut = false;
  /// Whether tokens see none that follow them.
  bool isCausal = false;
  /// Whether a field of the input's name comes before the role.
  bool isGuessed = false;

  /// Whether the input has no field of its own.
  bool isDerived() const {
    return role != SequenceRole::Tokens && role != SequenceRole::Along;
  }
  /// Returns the element where there is no token.
  int64_t getPadding(const InputSpec &input) const;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_RECIPES_SEQUENCERECIPE_H
