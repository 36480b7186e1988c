// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples from files for the inputs of a compiled function.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_DATASET_H
#define INGOT_RUNTIME_DATA_DATASET_DATASET_H

#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"
#include "runtime/data/files/Sources.h"
#include "runtime/data/readers/ClassNames.h"
#include "runtime/data/readers/Readers.h"
#include "runtime/data/recipes/Recipe.h"
#include "runtime/data/sequences/SequenceRows.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

class Console;

/// Files that hold the same samples: a single file or folder, or the .npy files
/// of one folder, each of which is named after its input.
using FileGroup = std::vector<DataFile>;

/// Groups the files that have data for these inputs, in order.
std::vector<FileGroup> groupFiles(const std::vector<DataFile> &files,
                                  const std::vector<InputSpec> &inputs);

/// Whether the samples have the shapes of the batched inputs. Files that lack
/// an array may have them, too. Throws badInput.
bool haveShapes(const FileGroup &files, const std::vector<InputSpec> &inputs);

/// Whether the files have the field that each of the batched inputs needs.
/// Throws badInput.
bool haveArrays(const FileGroup &files, const std::vector<InputSpec> &inputs,
                const Recipes &recipes = {});

/// The tokens in rows of sequences, and how many there is room for.
struct TokenCount {
  int64_t tokens = 0, room = 0;

  TokenCount &operator+=(const TokenCount &other) {
    tokens += other.tokens;
    room += other.room;
    return *this;
  }
};

struct DatasetOptions {
  /// The recipes of inputs that are not taken as they are.
  Recipes recipes = {};
  /// How many samples, or files, may be bad. The sample after a bad one takes
  /// its place; bad files are left out.
  int64_t skipBad = 0;
  /// The seed of the order in which sequences are packed, if it is random.
  std::optional<uint64_t> packSeed = std::nullopt;
  /// For sequences that have a row each: those up to this length are for
  /// another data set, and so are those that are too long unless this is the
  /// last one.
  int64_t longerThan = 0;
  bool isLast = true;
  /// Where decoded pictures are kept; null if they are not.
  std::shared_ptr<PictureCache> cache = nullptr;
  /// From which epoch on samples of training from files of tokens are moved by
  /// a number of tokens that is drawn for each epoch; never without it.
  std::optional<int64_t> movedFrom = std::nullopt;
  /// Whether each of these samples begins at a token that is drawn for it
  /// instead, in every epoch.
  bool drawsStarts = false;
  /// The names of classes by which folders of pictures get their labels; empty
  /// for those that each folder has.
  ClassNames classes = {};
  /// The lengths of all sequences, which data sets of the same files share:
  /// the first one measures them.
  std::shared_ptr<std::vector<int64_t>> lengths = nullptr;
  /// The stream of a pipe, which is read as it comes; null for files.
  std::shared_ptr<SampleStream> stream = nullptr;
};

/// The samples of one or more files, one group after another. Elements keep the
/// type they have in the file and are converted as batches are made.
class Dataset {
public:
  /// Opens the files and checks them against the batched inputs among `inputs`:
  /// names, types, shapes, label range; of files that are read sample by
  /// sample, when these are. Sample i of a token file is tokens iT to iT+T-1,
  /// where T is the second dimension of the inputs; its labels are the tokens
  /// that follow each of these. Throws badInput.
  Dataset(const std::vector<DataFile> &files,
          const std::vector<InputSpec> &inputs, Console &console,
          DatasetOptions options = {});
  Dataset(const std::vector<std::string> &paths,
          const std::vector<InputSpec> &inputs, Console &console);

  int64_t getSamples() const { return samples; }
  /// Returns the samples of each source of the files, by its index.
  std::vector<int64_t> countBySource(size_t sources) const;
  /// The recipes, if rows of training are mixed with each other; else null.
  const Recipes *getMixingRecipes() const {
    return isMixed ? &options.recipes : nullptr;
  }
  /// Counts the tokens of a sample: none where samples are not sequences, nor
  /// parts of a file of tokens.
  TokenCount countTokens(int64_t sample) const;

  /// Copies samples to the offsets of the inputs in `arena`. If there are fewer
  /// than a batch, the last one is repeated. The inputs are those of the
  /// constructor, or have the same names and types. Throws badInput.
  void fill(const std::vector<InputSpec> &inputs, const int64_t *indices,
            int64_t count, char *arena) const;

  /// Copies one sample, the one of `context`, to row `row` of the inputs; any
  /// number of threads may. Throws badInput.
  void fillRow(const std::vector<InputSpec> &inputs, SampleContext context,
               int64_t row, char *arena, Workspace &workspace) const;

  /// Repeats the last of `count` rows up to a whole batch.
  static void repeatLast(const std::vector<InputSpec> &inputs, int64_t count,
                         char *arena);

  /// Names what makes a loss of these samples not finite: a value of an input,
  /// or labels that are all to be ignored. The inputs are those of fill().
  std::optional<std::string>
  findProblem(const std::vector<InputSpec> &inputs,
              const std::vector<int64_t> &indices) const;

  /// Prints what has been left out since the last call.
  void printNotes(Console &console) const;

private:
  /// Where an input comes from.
  struct Column {
    size_t field = 0;
    /// Null for elements that are taken as they are.
    const Recipe *recipe = nullptr;
    /// The role of the input for sequences.
    std::optional<SequenceRole> role = std::nullopt;
    /// Whether all samples have been checked.
    bool isChecked = false;
  };
  struct Shard {
    std::unique_ptr<Reader> reader;
    /// By the order of `columns`.
    std::vector<Column> columns;
    int64_t samples = 0;
    /// The tokens of each sample, if they are parts of a file of tokens.
    int64_t tokens = 0;
    size_t source = 0;
    /// When the files were last found to be whole, in seconds.
    std::unique_ptr<std::atomic<int64_t>> checked;
  };
  Shard open(const FileGroup &group, const std::vector<InputSpec> &inputs,
             Console &console) const;
  Column bind(Shard &shard, const InputSpec &input, bool isFirst) const;
  Column bindSequence(const Reader &reader, const InputSpec &input,
                      const Recipe &recipe) const;
  size_t findColumn(const InputSpec &input) const;
  const Shard &findShard(int64_t sample, int64_t &within) const;
  void tryRow(const std::vector<InputSpec> &inputs,
              const SampleContext &context, int64_t row, char *arena,
              Workspace &workspace) const;
  /// Returns the token that a sample of training begins with, if it is not the
  /// one of its number.
  std::optional<int64_t> findStart(const Shard &shard, int64_t within,
                                   const SampleContext &context) const;
  void fillInput(const Shard &shard, int64_t within, const InputSpec &input,
                 const SampleContext &context, char *place,
                 Workspace &workspace) const;
  /// Makes rows of the samples.
  void layOut(const InputSpec &input, Console &console);
  std::vector<int64_t> measureSequences() const;
  void addBucket(const std::vector<int64_t> &lengths, int64_t length);
  void fillSequences(const std::vector<InputSpec> &inputs,
                     const SampleContext &context, int64_t row, char *arena,
                     Workspace &workspace) const;
  void readPiece(const std::vector<InputSpec> &inputs, const Piece &piece,
                 Workspace &workspace) const;
  void writePiece(const std::vector<InputSpec> &inputs, const Piece &piece,
                  int64_t row, char *arena, const Workspace &workspace) const;
  /// Returns the sample of the files that a sample begins with.
  int64_t findFirst(int64_t sample) const {
    return rows ? rows->getPieces(sample).front().sample : sample;
  }
  /// Finds out now and then whether the files of a shard are still whole, and
  /// at once if `isNow`. Throws badInput.
  static void checkFiles(const Shard &shard, bool isNow);
  /// Notes a sample of the files that could not be read, or all of its shard if
  /// the file is lost. Returns how many samples these are.
  int64_t leaveOutSample(int64_t sample, const Error &error) const;
  /// Says once that pictures have an orientation that is not applied.
  void noteOrientation(const std::string &name) const;
  /// Notes something bad. Throws it if there was too much of it.
  void leaveOut(int64_t sample, const Error &error) const;

  DatasetOptions options;
  /// The places of inputs in the columns of shards.
  std::unordered_map<std::string, size_t> columns;
  std::vector<Shard> shards;
  /// The first sample of each shard.
  std::vector<int64_t> starts;
  int64_t samples = 0;
  bool isMixed = false;
  /// The input by which sequences are laid out, and the rows, which are the
  /// samples then.
  InputSpec leader;
  std::optional<SequenceRows> rows;

  /// The samples that are bad, and files as negative numbers.
  mutable std::mutex badMutex;
  mutable std::set<int64_t> bad;
  mutable std::vector<std::string> notes;
  mutable std::atomic<bool> hasNotedOrientation = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_DATASET_H
