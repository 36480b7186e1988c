// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples from files.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/dataset/OpenReader.h"
#include "runtime/data/sequences/SequenceInputs.h"

#include "runtime/core/LostFiles.h"
#include "runtime/core/Random.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/data/readers/Checks.h"
#include "runtime/data/recipes/Mixing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <utility>

using namespace ingot::runtime;

static int64_t countBatched(const std::vector<InputSpec> &inputs) {
  return std::count_if(inputs.begin(), inputs.end(),
                       [](const InputSpec &i) { return i.isBatched(); });
}

static bool isNpyFile(const std::string &path) {
  std::error_code ignored;
  return !std::filesystem::is_directory(path, ignored) && !isPipe(path) &&
         isNpy(MappedFile(path).getBytes());
}

std::vector<FileGroup>
ingot::runtime::groupFiles(const std::vector<DataFile> &files,
                           const std::vector<InputSpec> &inputs) {
  std::vector<FileGroup> groups;
  std::map<std::filesystem::path, size_t> folders;
  for (const DataFile &file : files) {
    std::error_code ignored;
    // One that is not there is named when it is opened.
    if (countBatched(inputs) == 1 ||
        !std::filesystem::exists(file.path, ignored) || !isNpyFile(file.path)) {
      groups.push_back({file});
      continue;
    }
    std::filesystem::path folder =
        std::filesystem::path(file.path).parent_path();
    auto [known, isNew] = folders.try_emplace(folder, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[known->second].push_back(file);
  }
  return groups;
}

/// Whether an input takes the tokens that follow those of the first input.
static bool takesNextTokens(const InputSpec &input) {
  return input.kind == InputKind::Labels || input.name == "labels" ||
         input.name == "targets";
}

/// The sequence length of the inputs.
static int64_t getWindow(const std::vector<InputSpec> &inputs,
                         const std::string &path) {
  const InputSpec *first = nullptr;
  bool hasNext = false, canFeed = true;
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    canFeed &= !isFloat(input.dtype) && input.dtype != DType::Bool &&
               input.shape.size() == 2 && input.shape[1] > 0;
    if (takesNextTokens(input)) {
      canFeed &= !hasNext;
      hasNext = true;
    } else {
      canFeed &= !first;
      first = &input;
    }
  }
  if (canFeed && first)
    for (const InputSpec &input : inputs)
      canFeed &= !input.isBatched() || input.shape[1] == first->shape[1];
  if (!canFeed || !first)
    throw badInput(path,
                   "tokens feed a model with one integer input [N, T], and "
                   "labels of that shape; this model has others",
                   "save an array for each of the model's inputs in one .npz");
  return first->shape[1];
}

static std::unique_ptr<Reader>
openGroup(const FileGroup &group, const std::vector<InputSpec> &inputs,
          const Recipes &recipes, const ClassNames &classes = {},
          std::shared_ptr<SampleStream> stream = nullptr) {
  const DataFile &first = group.front();
  ReaderOptions options;
  options.classes = classes;
  options.stream = std::move(stream);
  options.tokens = first.tokens;
  options.getWindow = [&] { return getWindow(inputs, first.path); };
  if (const InputSpec *leader = findLeader(inputs, recipes)) {
    options.hasDocuments = true;
    options.separator = recipes.at(leader->name).getSequence()->separator;
  }
  if (countBatched(inputs) == 1)
    for (const InputSpec &input : inputs)
      if (input.isBatched())
        options.only = input.name;
  if (group.size() == 1)
    return openReader(first.path, options);
  std::vector<std::string> paths;
  for (const DataFile &file : group)
    paths.push_back(file.path);
  return openArrays(paths, "");
}

/// Returns the field for an input.
static std::optional<size_t>
findSource(const Reader &reader, const InputSpec &input, const Recipe *recipe) {
  if (recipe && !recipe->getField().empty())
    return reader.findField(recipe->getField());
  if (reader.getKind() == "tokens")
    return reader.findField(
        takesNextTokens(input) && !input.isShifted ? "next" : "tokens");
  if (auto own = reader.findField(input.name))
    return own;
  std::vector<const char *> names;
  // Arrays belong to the input of their name.
  if (reader.getKind() == "npz" || reader.getKind() == "npy")
    return std::nullopt;
  if (takesNextTokens(input))
    names = {"labels", "label", "cls"};
  else if (recipe && recipe->takesPictures())
    names.assign(std::begin(kPictureFields), std::end(kPictureFields));
  else if (recipe && recipe->readsText())
    names = {"text", "txt"};
  else if (recipe && recipe->getSequence())
    names = {"input_ids", "tokens", "ids"};
  else if (reader.getKind() == "CSV" || reader.getKind() == "Parquet")
    names = {"*"};
  for (const char *name : names)
    if (auto found = reader.findField(name))
      return found;
  return std::nullopt;
}

static Error makeMissing(const Reader &reader, const std::string &name) {
  std::string known = listNames(reader.getNames());
  if (reader.getKind() == "npy")
    return badInput(reader.getPath(),
                    "no file next to it for the model's input '" + name + "'",
                    ".npy files are named after the inputs, here " + name +
                        ".npy; or save all arrays in one .npz with "
                        "numpy.savez");
  if (reader.getKind() == "npz")
    return badInput(reader.getPath() + ": " + name, "no such array in the file",
                    "arrays are named after the model's inputs; the file has " +
                        known);
  return badInput(reader.getPath() + ": " + name, "no such field in the file",
                  "the samples have " + known +
                      "; another one is taken with "
                      "--input " +
                      name + "=from:FIELD");
}

static std::vector<DataFile> makeFiles(const std::vector<std::string> &paths) {
  std::vector<DataFile> files;
  for (const std::string &path : paths)
    files.push_back({path});
  return files;
}

Dataset::Dataset(const std::vector<std::string> &paths,
                 const std::vector<InputSpec> &inputs, Console &console)
    : Dataset(makeFiles(paths), inputs, console) {}

Dataset::Dataset(const std::vector<DataFile> &files,
                 const std::vector<InputSpec> &inputs, Console &console,
                 DatasetOptions given)
    : options(std::move(given)) {
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    columns.emplace(input.name, columns.size());
    if (auto recipe = options.recipes.find(input.name);
        recipe != options.recipes.end())
      recipe->second.check(input);
  }
  if (const InputSpec *found = findLeader(inputs, options.recipes))
    leader = *found;
  isMixed = findMixed(inputs, options.recipes) != nullptr;
  int64_t number = 0;
  for (const FileGroup &group : groupFiles(files, inputs)) {
    --number;
    try {
      Shard shard = open(group, inputs, console);
      starts.push_back(samples);
      samples += shard.samples;
      shards.push_back(std::move(shard));
    } catch (const Error &error) {
      leaveOut(number, error);
    }
  }
  if (!leader.name.empty())
    layOut(leader, console);
  printNotes(console);
  bool mayBeEmpty = rows && (options.longerThan != 0 || !options.isLast);
  if (samples == 0 && !mayBeEmpty)
    throw badInput(files.empty() ? "--data" : files.front().path,
                   "no samples are left", "give files with samples");
}

Dataset::Shard Dataset::open(const FileGroup &group,
                             const std::vector<InputSpec> &inputs,
                             Console &console) const {
  Shard shard;
  shard.reader = openGroup(group, inputs, options.recipes, options.classes,
                           options.stream);
  shard.source = group.front().source;
  shard.checked = std::make_unique<std::atomic<int64_t>>(0);
  Reader &reader = *shard.reader;
  std::set<size_t> used;
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    shard.columns.push_back(bind(shard, input, shard.samples == 0));
    used.insert(shard.columns.back().field);
    if (reader.getKind() == "tokens" && input.isShifted)
      console.noteOnce("'" + input.name +
                       "' are the tokens themselves: the model shifts them");
    if (reader.getKind() == "tokens" && input.kind == InputKind::Data)
      shard.tokens = input.shape[1];
  }
  checkFiles(shard, /*isNow=*/haveLostFiles());
  std::vector<std::string> others;
  if (reader.getKind() == "npz" || reader.getKind() == "npy")
    for (size_t f = 0; f < reader.getNames().size(); ++f)
      if (!used.count(f))
        others.push_back(reader.getNames()[f]);
  if (others.size() == 1)
    console.noteOnce("array '" + others.front() +
                     "' is not an input of the model: ignored");
  else if (!others.empty())
    console.noteOnce(std::to_string(others.size()) +
                     " arrays are not inputs of the model: ignored (" +
                     listNames(others) + ")");
  return shard;
}

/// The least token that does not fit in an integer type.
static int64_t getLimit(DType type) {
  switch (type) {
  case DType::I8:
    return INT8_MAX + 1;
  case DType::U8:
    return UINT8_MAX + 1;
  case DType::I16:
    return INT16_MAX + 1;
  case DType::I32:
    return int64_t(INT32_MAX) + 1;
  default:
    return INT64_MAX;
  }
}

static void checkTokens(const Array &all, const InputSpec &input,
                        const std::string &path) {
  int64_t limit =
      std::min(input.getLimit().value_or(INT64_MAX), getLimit(input.dtype));
  int64_t size = getSize(all.dtype);
  constexpr int64_t piece = 4096;
  int64_t tokens[piece];
  for (int64_t i = 0; i < all.shape[0]; i += piece) {
    int64_t some = std::min(piece, all.shape[0] - i);
    convert(all.data + i * size, all.dtype, tokens, DType::I64, some);
    for (int64_t k = 0; k < some; ++k)
      if ((tokens[k] < 0 || tokens[k] >= limit) && tokens[k] != input.ignored)
        throw badInput(path,
                       "token " + std::to_string(i + k) + " is " +
                           std::to_string(tokens[k]) + ", outside 0 to " +
                           std::to_string(limit - 1),
                       "encode the text with the model's own tokenizer");
  }
}

Dataset::Column Dataset::bind(Shard &shard, const InputSpec &input,
                              bool isFirst) const {
  // Larger files are checked as their samples are read.
  constexpr int64_t mostTokens = int64_t(1) << 26;
  Reader &reader = *shard.reader;
  Column column;
  auto known = options.recipes.find(input.name);
  const Recipe *recipe =
      known == options.recipes.end() ? nullptr : &known->second;
  if (recipe && recipe->getSequence()) {
    column = bindSequence(reader, input, *recipe);
    if (*column.role != SequenceRole::Tokens &&
        *column.role != SequenceRole::Along)
      return column;
  }
  auto field = column.role ? column.field : findSource(reader, input, recipe);
  if (!field)
    throw makeMissing(reader, recipe && !recipe->getField().empty()
                                  ? recipe->getField()
                                  : input.name);
  column.field = *field;
  if (recipe && !recipe->isEmpty())
    column.recipe = recipe;
  const Array *array = reader.load(*field);
  std::string where = reader.describeField(*field);
  int64_t count = reader.getSamples();
  if (array && reader.getKind() == "tokens") {
    if (count == 0 && !column.role)
      throw badInput(reader.getPath(),
                     std::to_string(array->shape[0]) +
                         " tokens, a sample needs " +
                         std::to_string(input.shape[1] + 1),
                     "give a longer file, or compile for shorter sequences");
    column.isChecked = array->shape[0] <= mostTokens;
    if (column.isChecked)
      checkTokens(*array, input, reader.getPath());
  } else if (array) {
    if (!column.recipe)
      checkArray(*array, input, where);
    column.isChecked = true;
    count = array->shape.empty() ? 0 : array->shape[0];
  }
  if (count == 0)
    throw badInput(where, "the array has no samples",
                   "give a file with samples");
  if (!isFirst && count != shard.samples)
    throw badInput(where,
                   std::to_string(count) +
                       " samples, but the arrays before it have " +
                       std::to_string(shard.samples),
                   "the first axis of every array counts the same samples");
  shard.samples = count;
  return column;
}

Dataset::Column Dataset::bindSequence(const Reader &reader,
                                      const InputSpec &input,
                                      const Recipe &recipe) const {
  const SequenceRecipe &sequence = *recipe.getSequence();
  Column column;
  column.recipe = &recipe;
  column.role = sequence.role;
  auto field = findSource(reader, input, &recipe);
  bool isOwn = !sequence.isDerived();
  bool isLabel = sequence.role == SequenceRole::Next ||
                 sequence.role == SequenceRole::Labels;
  if (sequence.isGuessed && isLabel && field) {
    isOwn = true;
    column.role = SequenceRole::Along;
  }
  const Recipe &main = options.recipes.at(leader.name);
  if (!isOwn)
    field = findSource(reader, leader, &main);
  if (!field)
    throw makeMissing(reader, isOwn && !recipe.getField().empty()
                                  ? recipe.getField()
                              : isOwn ? input.name
                                      : leader.name);
  column.field = *field;
  return column;
}

std::vector<int64_t> Dataset::countBySource(size_t sources) const {
  std::vector<int64_t> counts(sources);
  if (!rows)
    for (const Shard &shard : shards)
      counts[shard.source] += shard.samples;
  else
    for (int64_t row = 0, within = 0; row < samples; ++row)
      ++counts[findShard(findFirst(row), within).source];
  return counts;
}

size_t Dataset::findColumn(const InputSpec &input) const {
  return columns.at(input.name);
}

const Dataset::Shard &Dataset::findShard(int64_t sample,
                                         int64_t &within) const {
  size_t s = std::upper_bound(starts.begin(), starts.end(), sample) -
             starts.begin() - 1;
  within = sample - starts[s];
  return shards[s];
}

void Dataset::tryRow(const std::vector<InputSpec> &inputs,
                     const SampleContext &context, int64_t row, char *arena,
                     Workspace &workspace) const {
  if (rows) {
    fillSequences(inputs, context, row, arena, workspace);
    return;
  }
  int64_t within;
  const Shard &shard = findShard(context.sample, within);
  for (const InputSpec &input : inputs)
    if (input.isBatched())
      fillInput(shard, within, input, context,
                arena + input.offset + row * input.getBytes() / input.shape[0],
                workspace);
  checkFiles(shard, haveLostFiles());
}

/// Draws a start that depends on the seed, the epoch and the sample only: all
/// ranks and threads agree.
std::optional<int64_t> Dataset::findStart(const Shard &shard, int64_t within,
                                          const SampleContext &context) const {
  constexpr uint64_t stream = uint64_t(7) << 60;
  bool isMoved = options.drawsStarts ||
                 (options.movedFrom && context.epoch >= *options.movedFrom);
  if (shard.tokens == 0 || rows || !context.isTraining || !isMoved)
    return std::nullopt;
  int64_t starts = shard.reader->countStarts();
  Philox random(context.seed, stream + static_cast<uint64_t>(context.epoch));
  if (options.drawsStarts)
    return static_cast<int64_t>(
        Philox(random.next64(), static_cast<uint64_t>(context.sample))
            .below(static_cast<uint64_t>(starts)));
  auto moved = random.below(static_cast<uint64_t>(shard.tokens));
  return std::min(within * shard.tokens + static_cast<int64_t>(moved),
                  starts - 1);
}

void Dataset::fillInput(const Shard &shard, int64_t within,
                        const InputSpec &input, const SampleContext &context,
                        char *place, Workspace &workspace) const {
  const Column &column = shard.columns[findColumn(input)];
  std::optional<int64_t> start = findStart(shard, within, context);
  Value value =
      start ? shard.reader->readFrom(column.field, *start)
            : shard.reader->read(column.field, within, workspace.storage);
  if (column.recipe) {
    workspace.cache = options.cache.get();
    std::string where = shard.reader->describe(column.field, within);
    column.recipe->apply(value, input, place, context, workspace, where);
    if (workspace.hasTurned)
      noteOrientation(input.name);
    // Bytes of text may be beyond the table that they index.
    Array made{input.dtype, input.shape, place, nullptr};
    made.shape.front() = 1;
    checkIndices(made, input, /*position=*/0, where);
    return;
  }
  if (!column.isChecked)
    checkValue(value, input,
               start ? shard.reader->getPath() + ": tokens from " +
                           std::to_string(*start)
                     : shard.reader->describe(column.field, within));
  convert(value.bytes.data(), value.dtype, place, input.dtype,
          input.getElements() / input.shape[0]);
}

void Dataset::noteOrientation(const std::string &name) const {
  if (hasNotedOrientation.exchange(true))
    return;
  std::lock_guard lock(badMutex);
  notes.push_back("pictures have an EXIF orientation, which is not applied: "
                  "they are taken as they are stored; --input " +
                  name + "=decode,orient,... makes them upright");
}

void Dataset::leaveOut(int64_t sample, const Error &error) const {
  if (options.skipBad == 0 || error.getCode() != ExitCode::BadInput)
    throw error;
  std::lock_guard lock(badMutex);
  if (!bad.insert(sample).second)
    return;
  if (static_cast<int64_t>(bad.size()) > options.skipBad)
    throw badInput(error.getWhere(), error.getWhat(),
                   "more than the " + std::to_string(options.skipBad) +
                       " that --skip-bad allows are bad: check the data");
  notes.push_back("leaves out " + error.getWhere() + ": " + error.getWhat());
}

void Dataset::fillRow(const std::vector<InputSpec> &inputs,
                      SampleContext context, int64_t row, char *arena,
                      Workspace &workspace) const {
  for (int64_t tries = 0;; ++tries) {
    try {
      tryRow(inputs, context, row, arena, workspace);
      return;
    } catch (const Error &error) {
      int64_t count = leaveOutSample(findFirst(context.sample), error);
      if (tries == options.skipBad)
        throw;
      // What comes next in a stream may not be there yet.
      context.sample = options.stream ? std::max<int64_t>(context.sample - 1, 0)
                                      : (context.sample + count) % samples;
    }
  }
}

int64_t Dataset::leaveOutSample(int64_t sample, const Error &error) const {
  int64_t within;
  const Shard &shard = findShard(sample, within);
  try {
    checkFiles(shard, /*isNow=*/true);
  } catch (const Error &loss) {
    leaveOut(INT64_MIN + (&shard - shards.data()), loss);
    return shard.samples;
  }
  leaveOut(sample, error);
  return 1;
}

void Dataset::checkFiles(const Shard &shard, bool isNow) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (!isNow && *shard.checked == now.tv_sec)
    return;
  *shard.checked = now.tv_sec;
  for (const std::string &path : shard.reader->listFiles())
    checkMappedFile(path);
}

void Dataset::repeatLast(const std::vector<InputSpec> &inputs, int64_t count,
                         char *arena) {
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    int64_t rowBytes = input.getBytes() / input.shape[0];
    char *place = arena + input.offset;
    for (int64_t i = count; i < input.shape[0]; ++i)
      std::memcpy(place + i * rowBytes, place + (count - 1) * rowBytes,
                  static_cast<size_t>(rowBytes));
  }
}

void Dataset::fill(const std::vector<InputSpec> &inputs, const int64_t *indices,
                   int64_t count, char *arena) const {
  Workspace workspace;
  for (int64_t i = 0; i < count; ++i) {
    SampleContext context;
    context.sample = indices[i];
    fillRow(inputs, context, i, arena, workspace);
  }
  repeatLast(inputs, count, arena);
}

void Dataset::printNotes(Console &console) const {
  std::vector<std::string> taken;
  {
    std::lock_guard lock(badMutex);
    taken.swap(notes);
  }
  if (options.cache)
    if (auto note = options.cache->takeNote())
      taken.push_back(*note);
  for (const std::string &note : taken)
    console.noteOnce(note);
}

bool ingot::runtime::haveArrays(const FileGroup &files,
                                const std::vector<InputSpec> &inputs,
                                const Recipes &recipes) {
  auto reader = openGroup(files, inputs, recipes);
  return std::all_of(inputs.begin(), inputs.end(), [&](const InputSpec &i) {
    auto found = recipes.find(i.name);
    const Recipe *recipe = found == recipes.end() ? nullptr : &found->second;
    bool isDerived =
        recipe && recipe->getSequence() && recipe->getSequence()->isDerived();
    return !i.isBatched() || isDerived || findSource(*reader, i, recipe);
  });
}

bool ingot::runtime::haveShapes(const FileGroup &files,
                                const std::vector<InputSpec> &inputs) {
  auto reader = openGroup(files, inputs, {});
  std::string storage;
  return std::all_of(inputs.begin(), inputs.end(), [&](const InputSpec &i) {
    auto field = findSource(*reader, i, nullptr);
    if (!i.isBatched() || !field)
      return true;
    if (reader->getKind() == "tokens")
      return reader->getSamples() > 0;
    if (const Array *array = reader->load(*field))
      return haveSameSamples(*array, i);
    Value value = reader->read(*field, 0, storage);
    return value.kind == Value::Kind::Bytes ||
           std::equal(value.shape.begin(), value.shape.end(),
                      i.shape.begin() + 1, i.shape.end());
  });
}
