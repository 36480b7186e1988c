// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/session/PartPlaces.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

using namespace ingot::runtime;

static int64_t getLength(const PartOfDim &dim) {
  return std::accumulate(dim.segments.begin(), dim.segments.end(), int64_t(0));
}

/// The runs of a part of one dimension.
static std::vector<PartPlaces::Run> findRuns(const PartOfDim &dim) {
  std::vector<PartPlaces::Run> runs;
  int64_t first = 0, whole = 0;
  for (size_t i = 0; i < dim.segments.size(); ++i) {
    bool isLast = i + 1 == dim.segments.size();
    int64_t size = dim.segments[i];
    int64_t each = (size + (isLast ? dim.pad : 0)) / dim.parts;
    int64_t begin = dim.part * each;
    int64_t real = std::clamp<int64_t>(size - begin, 0, each);
    if (real != 0)
      runs.push_back({first, real, whole + begin});
    if (real != each)
      runs.push_back({first + real, each - real, -1});
    first += each;
    whole += size;
  }
  return runs;
}

PartPlaces::PartPlaces(std::vector<PartOfDim> given) : dims(std::move(given)) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].parts > 1)
      last = i;
  for (size_t i = last + 1; i < dims.size(); ++i)
    inner *= getLength(dims[i]);
  elements = inner;
  for (size_t i = 0; i <= last && i < dims.size(); ++i) {
    std::vector<Run> own = findRuns(dims[i]);
    int64_t count = 0;
    for (const Run &run : own)
      count += run.count;
    elements *= count;
    if (i == last) {
      length = count;
      wholeLength = getLength(dims[i]);
      runs = std::move(own);
      continue;
    }
    std::vector<int64_t> &places = outer.emplace_back();
    for (const Run &run : own)
      for (int64_t k = 0; k < run.count; ++k)
        places.push_back(run.whole < 0 ? -1 : run.whole + k);
  }
  // A scalar.
  if (dims.empty())
    runs = {{0, 1, 0}};
}

void PartPlaces::forEach(ElementRange range,
                         const std::function<void(const Run &)> &take) const {
  // The elements that one index of the outer dimensions has.
  const int64_t row = length * inner;
  for (int64_t at = range.begin; at < range.end;) {
    int64_t index = at / row, rest = index, stride = 1, place = 0;
    for (size_t i = outer.size(); i-- > 0;) {
      auto size = static_cast<int64_t>(outer[i].size());
      int64_t own = outer[i][static_cast<size_t>(rest % size)];
      place = own < 0 || place < 0 ? -1 : place + own * stride;
      rest /= size;
      stride *= getLength(dims[i]);
    }
    int64_t base = index * row, end = std::min(range.end, base + row);
    for (const Run &run : runs) {
      int64_t first = base + run.first * inner;
      int64_t begin = std::max(at, first);
      int64_t count = std::min(end, first + run.count * inner) - begin;
      if (count <= 0)
        continue;
      bool isPadding = place < 0 || run.whole < 0;
      take({begin, count,
            isPadding
                ? -1
                : (place * wholeLength + run.whole) * inner + begin - first});
    }
    at = end;
  }
}

std::string PartPlaces::print() const {
  std::string text;
  for (const PartOfDim &dim : dims) {
    text += (text.empty() ? "" : " ") + std::to_string(dim.part) + "/" +
            std::to_string(dim.parts) + ":";
    for (size_t i = 0; i < dim.segments.size(); ++i)
      text += (i != 0 ? "," : "") + std::to_string(dim.segments[i]);
    if (dim.pad != 0)
      text += "+" + std::to_string(dim.pad);
  }
  return text;
}

std::optional<PartPlaces> PartPlaces::parse(const std::string &text,
                                            const std::vector<int64_t> &whole) {
  constexpr int64_t most = int64_t(1) << 40;
  const char *at = text.c_str();
  bool isValid = true;
  auto read = [&] {
    char *end = nullptr;
    int64_t number = std::strtoll(at, &end, 10);
    isValid &= end != at && number >= 0 && number < most;
    at = end;
    return number;
  };
  auto skip = [&](char mark) {
    bool isThere = *at == mark;
    at += isThere;
    return isThere;
  };
  std::vector<PartOfDim> dims;
  do {
    PartOfDim dim;
    dim.part = read();
    isValid &= skip('/');
    dim.parts = read();
    isValid &= skip(':') && dim.part < dim.parts;
    do
      dim.segments.push_back(read());
    while (isValid && skip(','));
    if (skip('+'))
      dim.pad = read();
    if (!isValid || dim.pad >= dim.parts)
      return std::nullopt;
    for (size_t i = 0; i < dim.segments.size(); ++i) {
      bool isLast = i + 1 == dim.segments.size();
      if ((dim.segments[i] + (isLast ? dim.pad : 0)) % dim.parts != 0)
        return std::nullopt;
    }
    if (dims.size() == whole.size() || getLength(dim) != whole[dims.size()])
      return std::nullopt;
    dims.push_back(std::move(dim));
  } while (skip(' '));
  if (*at != 0 || dims.size() != whole.size())
    return std::nullopt;
  return PartPlaces(std::move(dims));
}
