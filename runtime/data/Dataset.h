// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples from files, fed to a compiled function's inputs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_H
#define INGOT_RUNTIME_DATA_DATASET_H

#include "runtime/core/File.h"
#include "runtime/core/Manifest.h"
#include "runtime/data/Npy.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

class Console;

/// Files that hold the same samples: an .npz or a file of tokens alone, or the
/// .npy files of one folder, each named after the input that it feeds.
using FileGroup = std::vector<std::string>;

/// The groups of files that feed these inputs, in order.
std::vector<FileGroup> groupFiles(const std::vector<std::string> &paths,
                                  const std::vector<InputSpec> &inputs);

/// Whether the samples have the shapes of the batched inputs. Does not look
/// further: also true of files that lack an array. Throws badInput.
bool haveShapes(const FileGroup &files, const std::vector<InputSpec> &inputs);

/// Whether the files have the array that each of the batched inputs needs.
/// Throws badInput.
bool haveArrays(const FileGroup &files, const std::vector<InputSpec> &inputs);

/// The samples of one or more files, one group after another. Arrays keep the
/// type they have in the file and are converted as batches are made.
class Dataset {
public:
  /// Opens the files and checks them against the batched inputs among
  /// `inputs`: names, types, shapes, label range. Sample i of a file of tokens
  /// is tokens iT to iT+T-1, with those that follow each of them as labels; T
  /// is the inputs' second dimension. Throws badInput.
  Dataset(const std::vector<std::string> &paths,
          const std::vector<InputSpec> &inputs, Console &console);

  int64_t getSamples() const { return samples; }

  /// Copies the samples into the inputs' places in `arena`. Fewer samples than
  /// the batch are padded with the last one. The inputs are those of the
  /// constructor, or a function's with the same names and types.
  void fill(const std::vector<InputSpec> &inputs, const int64_t *indices,
            int64_t count, char *arena) const;

private:
  /// What feeds one input: `samples` rows that begin `stride` bytes apart.
  struct Rows {
    Array array;
    int64_t stride = 0;
  };
  struct Shard {
    /// What keeps the bytes.
    std::vector<std::unique_ptr<ArrayFile>> files;
    MappedFile tokens;
    /// By column, in the order of `columns`.
    std::vector<Rows> rows;
    int64_t samples = 0;
  };
  void open(const FileGroup &group, const std::vector<InputSpec> &inputs,
            Console &console);
  void openTokens(Shard &shard, const std::vector<InputSpec> &inputs);

  std::vector<std::string> columns;
  std::vector<Shard> shards;
  /// The first sample of each shard.
  std::vector<int64_t> starts;
  int64_t samples = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_H
