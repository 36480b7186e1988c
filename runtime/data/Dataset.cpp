// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples from files.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Dataset.h"

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/core/text/Text.h"
#include "runtime/data/Tokens.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

using namespace ingot::runtime;

/// The label that losses ignore (PyTorch's ignore_index).
static constexpr int64_t kIgnoredLabel = -100;

static std::string describe(const std::vector<int64_t> &shape, size_t from) {
  std::string text = "[N";
  for (size_t i = from; i < shape.size(); ++i)
    text += ", " + std::to_string(shape[i]);
  return text + "]";
}

static bool holdsTokens(const MappedFile &file) {
  return isTokens(file.getBytes()) || file.getPath().ends_with(".bin");
}

static int64_t countBatched(const std::vector<InputSpec> &inputs) {
  return std::count_if(inputs.begin(), inputs.end(),
                       [](const InputSpec &i) { return i.isBatched(); });
}

static void checkLabels(const Array &array, const InputSpec &input,
                        const std::string &where) {
  int64_t elements = array.getElements();
  int64_t perSample = array.shape[0] ? elements / array.shape[0] : 1;
  int64_t size = getSize(array.dtype);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t label = 0;
    convert(array.data + i * size, array.dtype, &label, DType::I64, 1);
    if (label == kIgnoredLabel || (label >= 0 && label < *input.classes))
      continue;
    throw badInput(where,
                   "sample " + std::to_string(i / perSample) + " has label " +
                       std::to_string(label) + ", outside 0 to " +
                       std::to_string(*input.classes - 1),
                   "correct the label; -100 marks one to ignore");
  }
}

/// Checks the labels of a loss that takes probabilities.
static void checkProbabilities(const Array &array, const std::string &where) {
  int64_t elements = array.getElements();
  int64_t perSample = array.shape[0] ? elements / array.shape[0] : 1;
  constexpr int64_t piece = 4096;
  std::vector<double> values(std::min(piece, elements));
  for (int64_t i = 0; i < elements; i += piece) {
    int64_t some = std::min(piece, elements - i);
    convert(array.data + i * getSize(array.dtype), array.dtype, values.data(),
            DType::F64, some);
    for (int64_t k = 0; k < some; ++k)
      if (!(values[k] >= 0 && values[k] <= 1)) {
        std::ostringstream value;
        value << values[k];
        throw badInput(where,
                       "sample " + std::to_string((i + k) / perSample) +
                           " has label " + value.str() +
                           ", and bce-with-logits takes values from 0 to 1",
                       "correct the label, or compile with another --loss");
      }
  }
}

static bool haveSameSamples(const Array &array, const InputSpec &input) {
  return !array.shape.empty() &&
         std::equal(array.shape.begin() + 1, array.shape.end(),
                    input.shape.begin() + 1, input.shape.end());
}

/// Returns what to do about labels of another shape: they may be those for
/// another axis of classes.
static std::string hintForShape(const Array &array, const InputSpec &input) {
  auto classAxis = static_cast<size_t>(input.classAxis.value_or(0));
  if (input.classes && classAxis > 0 && classAxis <= input.shape.size() &&
      array.shape.size() == input.shape.size()) {
    std::vector<int64_t> output = input.shape;
    output.insert(output.begin() + static_cast<std::ptrdiff_t>(classAxis),
                  *input.classes);
    for (size_t axis = 1; axis < output.size(); ++axis) {
      std::vector<int64_t> labels = output;
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(axis));
      if (std::equal(labels.begin() + 1, labels.end(), array.shape.begin() + 1))
        return "these labels are for classes along axis " +
               std::to_string(axis) +
               " of the output: compile with --loss cross-entropy:" +
               std::to_string(axis) +
               ", instead of cross-entropy:" + std::to_string(classAxis);
    }
  }
  return "reshape the array; its first axis counts the samples";
}

/// Checks an array of a file against its input.
static void checkArray(const Array &array, const InputSpec &input,
                       const std::string &where) {
  if (!haveSameSamples(array, input)) {
    std::string actual = array.shape.empty() ? "[]" : describe(array.shape, 1);
    throw badInput(where,
                   "the array has shape " + actual + ", the model's input " +
                       describe(input.shape, 1),
                   hintForShape(array, input));
  }
  if (array.shape[0] == 0)
    throw badInput(where, "the array has no samples",
                   "give a file with samples");
  if (!canConvert(array.dtype, input.dtype))
    throw badInput(where,
                   "the array holds " + std::string(getName(array.dtype)) +
                       ", the model's input " +
                       std::string(getName(input.dtype)),
                   "convert the array with astype before saving it");
  int64_t at = 0;
  if (!fitsIn(array.data, array.dtype, input.dtype, array.getElements(), at))
    throw badInput(
        where,
        "sample " + std::to_string(at * array.shape[0] / array.getElements()) +
            " has a value that does not fit the model's " +
            std::string(getName(input.dtype)),
        "correct the value");
  if (input.kind == InputKind::Labels && input.classes && !isFloat(array.dtype))
    checkLabels(array, input, where);
  if (input.isProbability)
    checkProbabilities(array, where);
}

static bool isNpyFile(const std::string &path) {
  return isNpy(MappedFile(path).getBytes());
}

static std::string getStem(const std::string &path) {
  return std::filesystem::path(path).stem();
}

std::vector<FileGroup>
ingot::runtime::groupFiles(const std::vector<std::string> &paths,
                           const std::vector<InputSpec> &inputs) {
  std::vector<FileGroup> groups;
  std::map<std::filesystem::path, size_t> folders;
  for (const std::string &path : paths) {
    if (countBatched(inputs) == 1 || !isNpyFile(path)) {
      groups.push_back({path});
      continue;
    }
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    auto [known, isNew] = folders.try_emplace(folder, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[known->second].push_back(path);
  }
  return groups;
}

namespace {

/// The arrays of a group, by the names of the inputs.
class Arrays {
public:
  Arrays(const FileGroup &group, const std::vector<InputSpec> &inputs) {
    for (const std::string &path : group)
      files.push_back(std::make_unique<ArrayFile>(path));
    bool isAlone = files.size() == 1 && countBatched(inputs) == 1;
    for (const auto &file : files) {
      if (!file->isSingle()) {
        for (const std::string &name : file->getNames())
          sources[name] = {file.get(), name};
        continue;
      }
      std::string name = getStem(file->getPath());
      for (const InputSpec &input : inputs)
        if (isAlone && input.isBatched())
          name = input.name;
      if (!sources.try_emplace(name, file.get(), "").second)
        throw badInput(file->getPath(), "a file of that name came before",
                       "give one file for each of the model's inputs");
    }
  }

  bool has(const std::string &name) const { return sources.count(name) != 0; }

  /// Returns the array of an input. Throws badInput if there is none.
  Array read(const std::string &name) const {
    auto found = sources.find(name);
    if (found != sources.end())
      return found->second.first->read(found->second.second);
    std::vector<std::string> others;
    for (const auto &[other, source] : sources)
      others.push_back(other);
    std::string names = listNames(others);
    const ArrayFile &first = *files.front();
    if (!first.isSingle())
      throw badInput(
          first.getPath() + ": " + name, "no such array in the file",
          "arrays are named after the model's inputs; the file has " + names);
    throw badInput(first.getPath(),
                   "no file next to it for the model's input '" + name + "'",
                   ".npy files are named after the inputs, here " + name +
                       ".npy; or save all arrays in one .npz with numpy.savez");
  }

  /// Returns the name of an array for messages.
  std::string describe(const std::string &name) const {
    const auto &[file, inner] = sources.at(name);
    return file->getPath() + (inner.empty() ? "" : ": " + inner);
  }

  /// Calls `visit` for arrays that belong to no input.
  template <typename Visit>
  void forEachOther(const std::vector<std::string> &columns,
                    Visit visit) const {
    for (const auto &[name, source] : sources)
      if (std::find(columns.begin(), columns.end(), name) == columns.end())
        visit(name);
  }

  std::vector<std::unique_ptr<ArrayFile>> files;

private:
  std::map<std::string, std::pair<const ArrayFile *, std::string>> sources;
};

} // namespace

Dataset::Dataset(const std::vector<std::string> &paths,
                 const std::vector<InputSpec> &inputs, Console &console) {
  for (const InputSpec &input : inputs)
    if (input.isBatched())
      columns.push_back(input.name);
  for (const FileGroup &group : groupFiles(paths, inputs)) {
    open(group, inputs, console);
    starts.push_back(samples);
    samples += shards.back().samples;
  }
}

void Dataset::open(const FileGroup &group, const std::vector<InputSpec> &inputs,
                   Console &console) {
  Shard &shard = shards.emplace_back();
  shard.tokens = MappedFile(group.front());
  if (holdsTokens(shard.tokens)) {
    openTokens(shard, inputs);
    return;
  }
  shard.tokens = MappedFile();
  Arrays arrays(group, inputs);
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    Array array = arrays.read(input.name);
    std::string where = arrays.describe(input.name);
    checkArray(array, input, where);
    if (!shard.rows.empty() && array.shape[0] != shard.samples)
      throw badInput(where,
                     std::to_string(array.shape[0]) +
                         " samples, but the arrays before it have " +
                         std::to_string(shard.samples),
                     "the first axis of every array counts the same samples");
    shard.samples = array.shape[0];
    int64_t stride =
        array.getElements() / array.shape[0] * getSize(array.dtype);
    shard.rows.push_back({std::move(array), stride});
  }
  std::vector<std::string> others;
  arrays.forEachOther(columns,
                      [&](const std::string &name) { others.push_back(name); });
  if (others.size() == 1)
    console.noteOnce("array '" + others.front() +
                     "' is not an input of the model: ignored");
  else if (!others.empty())
    console.noteOnce(std::to_string(others.size()) +
                     " arrays are not inputs of the model: ignored (" +
                     listNames(others) + ")");
  shard.files = std::move(arrays.files);
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

static uint16_t getToken(std::string_view bytes, int64_t index) {
  uint16_t token;
  std::memcpy(&token, bytes.data() + index * sizeof(token), sizeof(token));
  return token;
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
  default:
    return UINT16_MAX + 1;
  }
}

void Dataset::openTokens(Shard &shard, const std::vector<InputSpec> &inputs) {
  const std::string &path = shard.tokens.getPath();
  std::string_view bytes = readTokens(shard.tokens.getBytes(), path);
  int64_t window = getWindow(inputs, path), size = getSize(DType::U16);
  int64_t count = static_cast<int64_t>(bytes.size()) / size;
  if (count <= window)
    throw badInput(path,
                   std::to_string(count) + " tokens, a sample needs " +
                       std::to_string(window + 1),
                   "give a longer file, or compile for shorter sequences");
  shard.samples = (count - 1) / window;
  Array all;
  all.dtype = DType::U16;
  all.shape = {count};
  all.data = bytes.data();
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    int64_t limit = input.classes.value_or(getLimit(input.dtype));
    for (int64_t i = 0; i < count; ++i)
      if (int64_t token = getToken(bytes, i); token >= limit)
        throw badInput(path,
                       "token " + std::to_string(i) + " is " +
                           std::to_string(token) + ", outside 0 to " +
                           std::to_string(limit - 1),
                       "encode the text with the model's own tokenizer");
    Rows rows{all, window * size};
    if (takesNextTokens(input))
      rows.array.data += size;
    shard.rows.push_back(std::move(rows));
  }
}

size_t Dataset::findColumn(const InputSpec &input) const {
  return std::find(columns.begin(), columns.end(), input.name) -
         columns.begin();
}

const char *Dataset::findRow(size_t column, int64_t sample, DType &type) const {
  size_t s = std::upper_bound(starts.begin(), starts.end(), sample) -
             starts.begin() - 1;
  const Rows &rows = shards[s].rows[column];
  type = rows.array.dtype;
  return rows.array.data + (sample - starts[s]) * rows.stride;
}

std::optional<std::string>
Dataset::findProblem(const std::vector<InputSpec> &inputs,
                     const std::vector<int64_t> &indices) const {
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    size_t column = findColumn(input);
    bool isIndex = input.kind == InputKind::Labels && input.classes;
    bool areAllIgnored = isIndex;
    std::vector<double> values(input.getElements() / input.shape[0]);
    for (int64_t sample : indices) {
      DType type;
      const char *row = findRow(column, sample, type);
      convert(row, type, values.data(), DType::F64,
              static_cast<int64_t>(values.size()));
      for (double value : values) {
        // Masks may hold infinities.
        bool isInfinite = std::isinf(value) && input.kind == InputKind::Labels;
        if (std::isnan(value) || isInfinite)
          return "sample " + std::to_string(sample) + " has " +
                 (isInfinite ? "infinity" : "NaN") + " in '" + input.name + "'";
        areAllIgnored &= value == static_cast<double>(kIgnoredLabel);
      }
    }
    if (areAllIgnored)
      return "all labels of the step are " + std::to_string(kIgnoredLabel) +
             ", which the loss ignores";
  }
  return std::nullopt;
}

void Dataset::fill(const std::vector<InputSpec> &inputs, const int64_t *indices,
                   int64_t count, char *arena) const {
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    size_t column = findColumn(input);
    int64_t batch = input.shape[0];
    int64_t elements = input.getElements() / batch;
    int64_t rowBytes = elements * getSize(input.dtype);
    char *place = arena + input.offset;
    for (int64_t i = 0; i < count; ++i) {
      DType type;
      const char *row = findRow(column, indices[i], type);
      convert(row, type, place + i * rowBytes, input.dtype, elements);
    }
    for (int64_t i = count; i < batch; ++i)
      std::memcpy(place + i * rowBytes, place + (count - 1) * rowBytes,
                  rowBytes);
  }
}

bool ingot::runtime::haveArrays(const FileGroup &files,
                                const std::vector<InputSpec> &inputs) {
  if (holdsTokens(MappedFile(files.front())))
    return true;
  Arrays arrays(files, inputs);
  return std::all_of(inputs.begin(), inputs.end(), [&](const InputSpec &i) {
    return !i.isBatched() || arrays.has(i.name);
  });
}

bool ingot::runtime::haveShapes(const FileGroup &files,
                                const std::vector<InputSpec> &inputs) {
  MappedFile tokens(files.front());
  if (holdsTokens(tokens)) {
    std::string_view bytes = readTokens(tokens.getBytes(), tokens.getPath());
    return static_cast<int64_t>(bytes.size() / getSize(DType::U16)) >
           getWindow(inputs, tokens.getPath());
  }
  Arrays arrays(files, inputs);
  return std::all_of(inputs.begin(), inputs.end(), [&](const InputSpec &i) {
    return !i.isBatched() || !arrays.has(i.name) ||
           haveSameSamples(arrays.read(i.name), i);
  });
}
