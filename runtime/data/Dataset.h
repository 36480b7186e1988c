// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples from files for the inputs of a compiled function.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_H
#define INGOT_RUNTIME_DATA_DATASET_H

#include "runtime/core/File.h"
#include "runtime/core/Manifest.h"
#include "runtime/data/Npy.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class Console;

/// Files that hold the same samples: a single .npz or token file, or the .npy
/// files of one folder, each of which is named after its input.
using FileGroup = std::vector<std::string>;

/// Groups the files that have data for these inputs, in order.
std::vector<FileGroup> groupFiles(const std::vector<std::string> &paths,
                                  const std::vector<InputSpec> &inputs);

/// Whether the samples have the shapes of the batched inputs. Files that lack
/// an array may have them, too. Throws badInput.
bool haveShapes(const FileGroup &files, const std::vector<InputSpec> &inputs);

/// Whether the files have the array that each of the batched inputs needs.
/// Throws badInput.
bool haveArrays(const FileGroup &files, const std::vector<InputSpec> &inputs);

/// The samples of one or more files, one group after another. Arrays keep the
/// type they have in the file and are converted as batches are made.
class Dataset {
public:
  /// Opens the files and checks them against the batched inputs among `inputs`:
  /// names, types, shapes, label range. Sample i of a token file is tokens iT
  /// to iT+T-1, where T is the second dimension of the inputs; its labels are
  /// the tokens that follow each of these. Throws badInput.
  Dataset(const std::vector<std::string> &paths,
          const std::vector<InputSpec> &inputs, Console &console);

  int64_t getSamples() const { return samples; }

  /// Copies samples to the offsets of the inputs in `arena`. If there are fewer
  /// than a batch, the last one is repeated. The inputs are those of the
  /// constructor, or have the same names and types.
  void fill(const std::vector<InputSpec> &inputs, const int64_t *indices,
            int64_t count, char *arena) const;

  /// Names what makes a loss of these samples not finite: a value of an input,
  /// or labels that are all to be ignored. The inputs are those of fill().
  std::optional<std::string>
  findProblem(const std::vector<InputSpec> &inputs,
              const std::vector<int64_t> &indices) const;

private:
  /// The data of one input: `samples` rows that begin `stride` bytes apart.
  struct Rows {
    Array array;
    int64_t stride = 0;
  };
  struct Shard {
    /// The files that own the bytes.
    std::vector<std::unique_ptr<ArrayFile>> files;
    MappedFile tokens;
    /// The rows of each column, in the order of `columns`.
    std::vector<Rows> rows;
    int64_t samples = 0;
  };
  void open(const FileGroup &group, const std::vector<InputSpec> &inputs,
            Console &console);
  void openTokens(Shard &shard, const std::vector<InputSpec> &inputs);
  size_t findColumn(const InputSpec &input) const;
  /// Returns the elements of a sample, of the type that they have in the file.
  const char *findRow(size_t column, int64_t sample, DType &type) const;

  std::vector<std::string> columns;
  std::vector<Shard> shards;
  /// The first sample of each shard.
  std::vector<int64_t> starts;
  int64_t samples = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_H
