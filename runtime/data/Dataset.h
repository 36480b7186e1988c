//===----------------------------------------------------------------------===//
//
// Samples from files, fed to a compiled function's inputs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_H
#define INGOT_RUNTIME_DATA_DATASET_H

#include "runtime/core/Manifest.h"
#include "runtime/data/Npy.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

class Console;

/// The samples of one or more files, one after another. Arrays keep the type
/// they have in the file and are converted as batches are made.
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
    /// One of them keeps the bytes.
    std::unique_ptr<ArrayFile> file;
    MappedFile tokens;
    /// By column, in the order of `columns`.
    std::vector<Rows> rows;
    int64_t samples = 0;
  };
  void open(const std::string &path, const std::vector<InputSpec> &inputs,
            Console &console);
  void openTokens(Shard &shard, const std::vector<InputSpec> &inputs);

  std::vector<std::string> columns;
  std::vector<Shard> shards;
  /// The first sample of each shard.
  std::vector<int64_t> starts;
  int64_t samples = 0;
};

/// Whether the file has the array that each of the batched inputs needs.
bool hasArrays(const std::string &path, const std::vector<InputSpec> &inputs);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_H
