// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/sequences/SequenceRows.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

using namespace ingot::runtime;

/// Distinguishes the order of sequences from other uses of the seed.
static constexpr uint64_t kPackStream = uint64_t(5) << 60;

namespace {

/// The room in rows, by which the first that has enough is found in a tree of
/// maxima.
class Rooms {
public:
  Rooms(size_t most, int64_t length)
      : leaves(std::bit_ceil(std::max<size_t>(most, 1))),
        room(2 * leaves, length) {}

  size_t take(int64_t count) {
    size_t node = 1;
    while (node < leaves)
      node = room[2 * node] >= count ? 2 * node : 2 * node + 1;
    size_t row = node - leaves;
    room[node] -= count;
    while ((node /= 2) != 0)
      room[node] = std::max(room[2 * node], room[2 * node + 1]);
    return row;
  }

private:
  size_t leaves;
  std::vector<int64_t> room;
};

} // namespace

void SequenceRows::packWindow(const std::vector<Piece> &window,
                              int64_t length) {
  // Those of the same length stay in order.
  std::vector<std::pair<int64_t, size_t>> byLength;
  for (const Piece &piece : window)
    byLength.emplace_back(-piece.count, byLength.size());
  std::sort(byLength.begin(), byLength.end());
  Rooms rooms(window.size(), length);
  std::vector<std::pair<size_t, size_t>> placed;
  std::vector<Piece> ordered;
  for (auto [negated, index] : byLength) {
    placed.emplace_back(rooms.take(window[index].count), placed.size());
    ordered.push_back(window[index]);
  }
  std::sort(placed.begin(), placed.end());
  for (size_t i = 0; i < placed.size(); ++i) {
    bool isNew = i == 0 || placed[i].first != placed[i - 1].first;
    Piece piece = ordered[placed[i].second];
    if (!isNew)
      piece.place = pieces.back().place + pieces.back().count;
    else
      piece.place = 0;
    pieces.push_back(piece);
    if (isNew)
      ends.push_back(0);
    ends.back() = static_cast<int64_t>(pieces.size());
  }
}

void SequenceRows::pack(const std::vector<int64_t> &lengths, int64_t first,
                        const Settings &settings) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  if (settings.seed) {
    Philox random(*settings.seed, kPackStream + static_cast<uint64_t>(first));
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[random.below(i + 1)]);
  }
  std::vector<Piece> window;
  int64_t inWindow = 0;
  for (int64_t sample : order) {
    int64_t length = lengths[static_cast<size_t>(sample)];
    if (settings.isCut)
      length = std::min(length, settings.length);
    for (int64_t at = 0; at < length; at += settings.length)
      window.push_back(
          {first + sample, at,
           static_cast<int32_t>(std::min(settings.length, length - at)), 0});
    if (++inWindow == settings.window) {
      packWindow(window, settings.length);
      window.clear();
      inWindow = 0;
    }
  }
  if (!window.empty())
    packWindow(window, settings.length);
}

void SequenceRows::add(int64_t sample, int64_t count) {
  pieces.push_back({sample, 0, static_cast<int32_t>(count), 0});
  ends.push_back(static_cast<int64_t>(pieces.size()));
}

int64_t SequenceRows::countTokens(int64_t row) const {
  int64_t tokens = 0;
  for (const Piece &piece : getPieces(row))
    tokens += piece.count;
  return tokens;
}

template <size_t size>
static void fillAs(const void *element, char *place, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(place + i * static_cast<int64_t>(size), element, size);
}

/// Stores an element `count` times.
static void fill(const void *element, int64_t size, char *place,
                 int64_t count) {
  switch (size) {
  case 1:
    return fillAs<1>(element, place, count);
  case 2:
    return fillAs<2>(element, place, count);
  case 4:
    return fillAs<4>(element, place, count);
  default:
    return fillAs<8>(element, place, count);
  }
}

namespace {

/// An element as it lies in an input.
struct Element {
  char bytes[8] = {};
  Element(double value, DType type) {
    convert(&value, DType::F64, bytes, type, 1);
  }
  Element(int64_t value, DType type) {
    convert(&value, DType::I64, bytes, type, 1);
  }
};

} // namespace

/// Returns the elements of a mask for tokens that do not see each other, and
/// for those that do: floating-point masks are added to scores, the others
/// choose.
static std::pair<Element, Element> getMaskElements(DType type) {
  if (isFloat(type))
    return {Element(-std::numeric_limits<double>::infinity(), type),
            Element(0.0, type)};
  return {Element(int64_t(0), type), Element(int64_t(1), type)};
}

void ingot::runtime::writePadding(const SequenceRecipe &recipe,
                                  const InputSpec &input, char *place) {
  int64_t size = getSize(input.dtype), elements = input.getElements();
  elements /= input.shape[0];
  if (recipe.role != SequenceRole::Diagonal) {
    fill(Element(recipe.getPadding(input), input.dtype).bytes, size, place,
         elements);
    return;
  }
  // Padding sees itself: a softmax over nothing has no value.
  auto [hidden, seen] = getMaskElements(input.dtype);
  fill(hidden.bytes, size, place, elements);
  int64_t length = input.shape.back();
  for (int64_t i = 0; i < length; ++i)
    fill(seen.bytes, size, place + i * (length + 1) * size, 1);
}

void ingot::runtime::writeDerived(std::span<const Piece> pieces,
                                  const SequenceRecipe &recipe,
                                  const InputSpec &input, char *place) {
  int64_t size = getSize(input.dtype), length = input.shape.back();
  for (size_t number = 0; number < pieces.size(); ++number) {
    const Piece &piece = pieces[number];
    char *to = place + piece.place * size;
    switch (recipe.role) {
    case SequenceRole::Positions:
      for (int64_t i = 0; i < piece.count; ++i)
        fill(Element(i, input.dtype).bytes, size, to + i * size, 1);
      break;
    case SequenceRole::Segments:
      fill(Element(static_cast<int64_t>(number + 1), input.dtype).bytes, size,
           to, piece.count);
      break;
    case SequenceRole::Present:
      fill(Element(int64_t(1), input.dtype).bytes, size, to, piece.count);
      break;
    case SequenceRole::Diagonal: {
      auto seen = getMaskElements(input.dtype).second;
      for (int64_t i = 0; i < piece.count; ++i)
        fill(seen.bytes, size,
             place + ((piece.place + i) * length + piece.place) * size,
             recipe.isCausal ? i + 1 : piece.count);
      break;
    }
    default:
      break;
    }
  }
}
