// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rows of a fixed length that hold sequences of any length.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEROWS_H
#define INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEROWS_H

#include "runtime/data/recipes/SequenceRecipe.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ingot::runtime {

/// A part of a sequence, and where in a row it lies.
struct Piece {
  int64_t sample = 0;
  /// The tokens from `first` on lie from `place` on.
  int64_t first = 0;
  int32_t count = 0, place = 0;
};

class SequenceRows {
public:
  struct Settings {
    /// The tokens of a row.
    int64_t length = 0;
    /// How many sequences are laid out together.
    int64_t window = 1024;
    /// Whether the tokens that do not fit in a row are left out; else they go
    /// into other rows.
    bool isCut = false;
    /// The seed of the order in which sequences are laid out, if it is random.
    std::optional<uint64_t> seed = std::nullopt;
  };

  /// Lays out the samples from `first` on with these lengths, several in a row:
  /// of each window the longest first, each in the first row that has room. No
  /// row holds samples of two calls. Samples of length 0 are left out.
  void pack(const std::vector<int64_t> &lengths, int64_t first,
            const Settings &settings);

  /// Adds a row for a sample.
  void add(int64_t sample, int64_t count);

  int64_t getRows() const { return static_cast<int64_t>(ends.size()); }
  /// The pieces of a row.
  std::span<const Piece> getPieces(int64_t row) const {
    auto first = row == 0 ? 0 : ends[static_cast<size_t>(row - 1)];
    return {pieces.data() + first,
            static_cast<size_t>(ends[static_cast<size_t>(row)] - first)};
  }
  /// The tokens in a row.
  int64_t countTokens(int64_t row) const;

private:
  void packWindow(const std::vector<Piece> &window, int64_t length);

  std::vector<Piece> pieces;
  /// The end of each row in `pieces`.
  std::vector<int64_t> ends;
};

/// Writes what is in a row besides its tokens, at `place`: positions, segments,
/// masks.
void writeDerived(std::span<const Piece> pieces, const SequenceRecipe &recipe,
                  const InputSpec &input, char *place);

/// Fills a row with padding.
void writePadding(const SequenceRecipe &recipe, const InputSpec &input,
                  char *place);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEROWS_H
