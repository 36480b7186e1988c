// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples that are rows of sequences.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/dataset/Dataset.h"

#include "runtime/core/LostFiles.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/readers/Checks.h"

#include <algorithm>
#include <utility>

using namespace ingot::runtime;

/// Returns a value as a sequence of elements; text is one of bytes.
static Value asSequence(Value value, const Recipe &recipe,
                        const std::string &where) {
  bool isText = value.kind == Value::Kind::Bytes;
  if (isText != recipe.readsText())
    throw badInput(where,
                   isText ? "the field is text, not a list of tokens"
                          : "the field is no text",
                   isText ? "tokenize it before, or take its bytes with the "
                            "step bytes"
                          : "leave the step bytes out");
  if (isText) {
    value.kind = Value::Kind::Elements;
    value.dtype = DType::U8;
    value.shape = {static_cast<int64_t>(value.bytes.size())};
  }
  if (value.shape.size() != 1)
    throw badInput(where,
                   "the field is " + value.describe() + ", not one sequence",
                   "give a field with a list of numbers for each sample");
  return value;
}

/// Returns the tokens of each sequence, and -1 for those that are bad.
std::vector<int64_t> Dataset::measureSequences() const {
  std::vector<int64_t> lengths;
  std::string storage;
  for (const Shard &shard : shards) {
    const Column &column = shard.columns[findColumn(leader)];
    for (int64_t i = 0; i < shard.samples; ++i) {
      int64_t length = 0;
      try {
        Value value = shard.reader->read(column.field, i, storage);
        length = asSequence(value, *column.recipe,
                            shard.reader->describe(column.field, i))
                     .shape[0];
      } catch (const Error &error) {
        leaveOut(static_cast<int64_t>(lengths.size()), error);
        length = -1;
      }
      lengths.push_back(length);
    }
  }
  return lengths;
}

void Dataset::layOut(const InputSpec &input, Console &console) {
  const SequenceRecipe &recipe = *options.recipes.at(input.name).getSequence();
  if (!options.lengths)
    options.lengths = std::make_shared<std::vector<int64_t>>();
  if (options.lengths->empty())
    *options.lengths = measureSequences();
  const std::vector<int64_t> &lengths = *options.lengths;
  rows.emplace();
  if (auto empty = std::count(lengths.begin(), lengths.end(), 0))
    console.noteOnce(std::to_string(empty) +
                     " samples have no tokens: left out");
  bool hasEnds = false;
  for (const auto &[name, other] : options.recipes)
    if (const SequenceRecipe *follower = other.getSequence())
      hasEnds |= follower->role == SequenceRole::Segments ||
                 follower->role == SequenceRole::Diagonal;
  if (recipe.isPacked && !hasEnds)
    console.noteOnce("no input says which tokens belong together: attention "
                     "sees all sequences of a row");
  if (!recipe.isPacked) {
    addBucket(lengths, input.shape[1]);
  } else {
    SequenceRows::Settings settings{input.shape[1], recipe.window, recipe.isCut,
                                    options.packSeed};
    // Rows belong to one source, as weights are of sources.
    for (size_t first = 0, end = 0; first < shards.size(); first = end) {
      while (end < shards.size() && shards[end].source == shards[first].source)
        ++end;
      auto last = end < shards.size() ? starts[end] : samples;
      rows->pack({lengths.begin() + starts[first], lengths.begin() + last},
                 starts[first], settings);
    }
  }
  samples = rows->getRows();
}

void Dataset::addBucket(const std::vector<int64_t> &lengths, int64_t length) {
  bool isCut = options.recipes.at(leader.name).getSequence()->isCut;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= options.longerThan)
      continue;
    if (lengths[i] <= length || (options.isLast && isCut)) {
      rows->add(static_cast<int64_t>(i), std::min(lengths[i], length));
    } else if (options.isLast) {
      int64_t within;
      auto sample = static_cast<int64_t>(i);
      const Shard &shard = findShard(sample, within);
      const Column &column = shard.columns[findColumn(leader)];
      leaveOut(sample,
               badInput(shard.reader->describe(column.field, within),
                        std::to_string(lengths[i]) +
                            " tokens, and the longest rows have " +
                            std::to_string(length),
                        "compile for longer ones with --dim, or cut them with "
                        "the step truncate"));
    }
  }
}

TokenCount Dataset::countTokens(int64_t sample) const {
  if (rows)
    return {rows->countTokens(sample), leader.shape[1]};
  int64_t within;
  const Shard &shard = findShard(sample, within);
  return {shard.tokens, shard.tokens};
}

/// Checks elements of a sequence, from number `first` on.
static void checkElements(const Value &value, int64_t first, int64_t count,
                          const InputSpec &input, const std::string &where) {
  if (count <= 0)
    return;
  Array some;
  some.dtype = value.dtype;
  some.shape = {1, count};
  some.data = value.bytes.data() + first * getSize(value.dtype);
  InputSpec piece = input;
  piece.shape = {1, count};
  // Sequences are of one vocabulary, wherever in a row they come to lie.
  auto limit = input.getLimit();
  piece.indexed.clear();
  checkArray(some, piece, where);
  if (input.classes || !limit)
    return;
  for (int64_t i = 0; i < count; ++i) {
    int64_t token = 0;
    convert(some.data + i * getSize(value.dtype), value.dtype, &token,
            DType::I64, 1);
    if (token < 0 || token >= *limit)
      throw badInput(where,
                     "token " + std::to_string(first + i) + " is " +
                         std::to_string(token) + ", outside 0 to " +
                         std::to_string(*limit - 1),
                     "encode the text with the model's own tokenizer");
  }
}

/// Reads the fields of a piece into the workspace, by input, and checks them.
void Dataset::readPiece(const std::vector<InputSpec> &inputs,
                        const Piece &piece, Workspace &workspace) const {
  int64_t within, length = 0;
  const Shard &shard = findShard(piece.sample, within);
  workspace.values.resize(columns.size());
  workspace.storages.resize(columns.size());
  size_t main = findColumn(leader);
  auto read = [&](const InputSpec &input) {
    size_t index = findColumn(input);
    const Column &column = shard.columns[index];
    std::string where = shard.reader->describe(column.field, within);
    Value &value = workspace.values[index];
    value = asSequence(
        shard.reader->read(column.field, within, workspace.storages[index]),
        *column.recipe, where);
    if (index == main)
      length = value.shape[0];
    if (value.shape[0] != length || length < piece.first + piece.count)
      throw badInput(where,
                     std::to_string(value.shape[0]) +
                         " elements, and the sequence has " +
                         std::to_string(length) + " tokens",
                     "give an element for each token");
    if (!column.isChecked)
      checkElements(value, piece.first, piece.count, input, where);
  };
  read(leader);
  const Value &tokens = workspace.values[main];
  for (const InputSpec &input : inputs) {
    auto role = input.isBatched() ? shard.columns[findColumn(input)].role
                                  : std::nullopt;
    if (role == SequenceRole::Along)
      read(input);
    // Tokens are labels of those before them.
    if ((role == SequenceRole::Next || role == SequenceRole::Labels) &&
        input.getLimit())
      checkElements(tokens, piece.first + 1,
                    std::min<int64_t>(piece.count, length - piece.first - 1),
                    input,
                    shard.reader->describe(shard.columns[main].field, within));
  }
}

void Dataset::writePiece(const std::vector<InputSpec> &inputs,
                         const Piece &piece, int64_t row, char *arena,
                         const Workspace &workspace) const {
  int64_t within;
  const Shard &shard = findShard(piece.sample, within);
  size_t main = findColumn(leader);
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    size_t index = findColumn(input);
    const Column &column = shard.columns[index];
    if (!column.role || (*column.role != SequenceRole::Tokens &&
                         *column.role != SequenceRole::Along &&
                         *column.role != SequenceRole::Next &&
                         *column.role != SequenceRole::Labels))
      continue;
    bool isNext = *column.role == SequenceRole::Next;
    bool isLabels = *column.role == SequenceRole::Labels;
    const Value &value = workspace.values[isNext || isLabels ? main : index];
    // A model that shifts labels predicts the first one of a piece from what
    // comes before it in the row, which is another sequence.
    int64_t left = isLabels || input.isShifted ? 1 : 0;
    int64_t first = piece.first + (isNext ? 1 : left);
    // The last token of a sequence has none after it.
    int64_t count =
        std::min<int64_t>(piece.count - left, value.shape[0] - first);
    int64_t size = getSize(input.dtype);
    convert(value.bytes.data() + first * getSize(value.dtype), value.dtype,
            arena + input.offset + row * input.getBytes() / input.shape[0] +
                (piece.place + left) * size,
            input.dtype, count);
  }
}

void Dataset::fillSequences(const std::vector<InputSpec> &inputs,
                            const SampleContext &context, int64_t row,
                            char *arena, Workspace &workspace) const {
  auto getPlace = [&](const InputSpec &input) {
    return arena + input.offset + row * input.getBytes() / input.shape[0];
  };
  auto findRecipe = [&](const InputSpec &input) -> const SequenceRecipe * {
    auto known = options.recipes.find(input.name);
    return input.isBatched() && known != options.recipes.end()
               ? known->second.getSequence()
               : nullptr;
  };
  auto pad = [&] {
    for (const InputSpec &input : inputs)
      if (const SequenceRecipe *recipe = findRecipe(input))
        writePadding(*recipe, input, getPlace(input));
  };
  pad();
  bool isPacked = findRecipe(leader)->isPacked;
  std::vector<Piece> held;
  bool isWhole = true;
  for (const Piece &piece : rows->getPieces(context.sample)) {
    try {
      readPiece(inputs, piece, workspace);
      writePiece(inputs, piece, row, arena, workspace);
      int64_t within;
      checkFiles(findShard(piece.sample, within), haveLostFiles());
      held.push_back(piece);
    } catch (const Error &error) {
      // The rest of the row is good; what was bad is padding.
      if (!isPacked)
        throw;
      leaveOutSample(piece.sample, error);
      isWhole = false;
    }
  }
  // A file that is lost may have left zeros in the place of a piece.
  if (!isWhole) {
    pad();
    for (const Piece &piece : held) {
      readPiece(inputs, piece, workspace);
      writePiece(inputs, piece, row, arena, workspace);
    }
  }
  for (const InputSpec &input : inputs)
    if (const SequenceRecipe *recipe = findRecipe(input))
      writeDerived(held, *recipe, input, getPlace(input));
  if (isPacked)
    return;
  SampleContext own = context;
  own.sample = findFirst(context.sample);
  int64_t within;
  const Shard &shard = findShard(own.sample, within);
  for (const InputSpec &input : inputs)
    if (input.isBatched() && !findRecipe(input))
      fillInput(shard, within, input, own, getPlace(input), workspace);
}
