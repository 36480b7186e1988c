// SPDX-License-Identifier: Apache-2.0

#include "runtime/abi/PruningSpec.h"
#include "runtime/core/Device.h"
#include "runtime/core/ManifestField.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/trainer/pruning/Pruner.h"
#include "runtime/trainer/pruning/Selection.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string_view>
#include <vector>

using namespace ingot::runtime;

/// The elements that are read together.
static constexpr int64_t kPiece = 4096;
static constexpr int64_t kBitsOfByte = 8;

/// Returns the blocks that are pruned after that many steps.
static int64_t countDue(const PruningSpec &spec, int64_t steps) {
  if (steps < spec.begin)
    return 0;
  double share = spec.share;
  if (steps < spec.end) {
    int64_t taken = (steps - spec.begin) / spec.every * spec.every;
    double left = 1 - static_cast<double>(taken) /
                          static_cast<double>(spec.end - spec.begin);
    share *= 1 - left * left * left;
  }
  // Halves to even.
  return std::llrint(share * static_cast<double>(spec.blocks));
}

namespace {

/// A weight with its bits.
class PrunedWeight {
public:
  PrunedWeight(Session &session, const PruningSpec &spec)
      : session(session), spec(spec),
        weight(*session.getManifest().findState(spec.weight)),
        elements(weight.getElements()),
        bits(reinterpret_cast<uint8_t *>(
            session.getPlace(*session.getManifest().findState(spec.bits)))) {}

  int64_t getElements() const { return elements; }
  /// Returns the number of bits that are set.
  int64_t count() const;

  /// Sets bits of blocks of the least magnitude until as many are pruned.
  /// Returns whether there were fewer.
  bool prune(int64_t due);
  /// Clears the elements whose bits are set, of moments too.
  void clear();

private:
  bool has(int64_t element) const {
    return bits[element / kBitsOfByte] >> (element % kBitsOfByte) & 1;
  }
  void set(int64_t element) {
    bits[element / kBitsOfByte] |=
        static_cast<uint8_t>(1 << (element % kBitsOfByte));
  }
  /// Calls `take` with each element and its value.
  template <typename Take> void forEach(Take take) const {
    std::array<double, kPiece> values;
    for (int64_t first = 0; first < elements; first += kPiece) {
      int64_t count = std::min(kPiece, elements - first);
      readValues(session, weight, first, count, values.data(), DType::F64);
      for (int64_t i = 0; i < count; ++i)
        take(first + i, values[i]);
    }
  }
  /// Pruned elements stay so: they come first.
  uint64_t getKey(int64_t element, double value) const {
    return has(element) ? 0 : getMagnitudeKey(value);
  }
  void pruneElements(int64_t due);
  void pruneBlocks(int64_t due);
  void pruneGroups();
  /// Returns the block of an element, by blocks of outputs, then of inputs,
  /// then by what else the weight has, such as the places of a filter.
  int64_t findBlock(int64_t element) const;
  void clear(const StateSpec &state);

  Session &session;
  const PruningSpec &spec;
  const StateSpec &weight;
  int64_t elements;
  uint8_t *bits;
};

} // namespace

void PrunedWeight::pruneElements(int64_t due) {
  Smallest smallest = findSmallest(due, [&](auto take) {
    forEach([&](int64_t at, double value) { take(getKey(at, value)); });
  });
  forEach([&](int64_t at, double value) {
    if (smallest.take(getKey(at, value)))
      set(at);
  });
}

int64_t PrunedWeight::findBlock(int64_t element) const {
  int64_t output = 0, input = 0, rest = 0, places = 1;
  for (size_t dim = weight.shape.size(); dim-- > 0;) {
    int64_t size = weight.shape[dim], at = element % size;
    element /= size;
    if (static_cast<int64_t>(dim) == spec.outputDim) {
      output = at / spec.rows;
    } else if (static_cast<int64_t>(dim) == spec.inputDim) {
      input = at / spec.columns;
    } else {
      rest += at * places;
      places *= size;
    }
  }
  int64_t inputs = weight.shape[*spec.inputDim] / spec.columns;
  return (output * inputs + input) * places + rest;
}

void PrunedWeight::pruneBlocks(int64_t due) {
  std::vector<double> squares(spec.blocks);
  std::vector<bool> chosen(spec.blocks);
  forEach([&](int64_t at, double value) {
    int64_t block = findBlock(at);
    squares[block] += value * value;
    chosen[block] = has(at);
  });
  auto getBlockKey = [&](int64_t block) {
    return chosen[block] ? 0 : getMagnitudeKey(squares[block]);
  };
  Smallest smallest = findSmallest(due, [&](auto take) {
    for (int64_t block = 0; block < spec.blocks; ++block)
      take(getBlockKey(block));
  });
  for (int64_t block = 0; block < spec.blocks; ++block)
    chosen[block] = smallest.take(getBlockKey(block));
  for (int64_t at = 0; at < elements; ++at)
    if (chosen[findBlock(at)])
      set(at);
}

void PrunedWeight::pruneGroups() {
  // The elements of a group are that far from each other.
  int64_t apart = 1;
  for (size_t dim = *spec.inputDim + 1; dim < weight.shape.size(); ++dim)
    apart *= weight.shape[dim];
  int64_t due = std::llrint(spec.share * static_cast<double>(spec.group));
  std::vector<double> values(spec.group * apart);
  auto size = static_cast<int64_t>(values.size());
  for (int64_t first = 0; first < elements; first += size) {
    readValues(session, weight, first, size, values.data(), DType::F64);
    for (int64_t column = 0; column < apart; ++column) {
      auto forEachKey = [&](auto take) {
        for (int64_t at = column; at < size; at += apart)
          take(at, getKey(first + at, values[at]));
      };
      for (int64_t i = 0; i < due; ++i) {
        uint64_t least = ~uint64_t(0);
        int64_t found = column;
        forEachKey([&](int64_t at, uint64_t key) {
          if (key != 0 && key < least) {
            least = key;
            found = at;
          }
        });
        set(first + found);
      }
    }
  }
}

int64_t PrunedWeight::count() const {
  int64_t pruned = 0, bytes = (elements + kBitsOfByte - 1) / kBitsOfByte;
  for (int64_t i = 0; i < bytes; ++i)
    pruned += std::popcount(bits[i]);
  return pruned;
}

bool PrunedWeight::prune(int64_t due) {
  if (count() / (spec.rows * spec.columns) >= due)
    return false;
  if (spec.group != 0)
    pruneGroups();
  else if (spec.outputDim)
    pruneBlocks(due);
  else
    pruneElements(due);
  return true;
}

void PrunedWeight::clear(const StateSpec &state) {
  std::array<double, kPiece> values;
  auto [begin, end] = session.getHeld(state);
  for (int64_t first = begin; first < end; first += kPiece) {
    int64_t count = std::min(kPiece, end - first);
    readValues(session, state, first, count, values.data(), DType::F64);
    bool isChanged = false;
    for (int64_t i = 0; i < count; ++i)
      if (has(first + i)) {
        isChanged = true;
        values[i] = 0;
      }
    if (isChanged)
      writeValues(session, state, first, count, values.data(), DType::F64);
  }
}

void PrunedWeight::clear() {
  clear(weight);
  for (const StateSpec &state : session.getManifest().states)
    if (state.role == StateRole::Moment && state.name != spec.bits &&
        state.shape == weight.shape &&
        state.name.starts_with(weight.name + "/"))
      clear(state);
}

namespace {

class SessionPruner : public Pruner {
public:
  explicit SessionPruner(Session &session) : session(session) {
    const ingot_module_t &module = session.getModule();
    auto root = nlohmann::json::parse(
        std::string_view(module.manifest, module.manifest_bytes), nullptr,
        /*allow_exceptions=*/false);
    for (const Field &item : Field(root, "")[kPruningKey].getItems()) {
      ManifestReader reader(item);
      PruningSpec &spec = specs.emplace_back();
      visit(reader, spec);
      const Manifest &manifest = session.getManifest();
      for (const std::string &state : {spec.weight, spec.bits})
        if (!manifest.findState(state))
          throw item.makeError("'" + state + "' is no state");
    }
  }

  bool isDue(int64_t steps) const override {
    return std::any_of(
        specs.begin(), specs.end(), [&](const PruningSpec &spec) {
          return countDue(spec, steps) != countDue(spec, steps - 1);
        });
  }
  bool prune(int64_t steps) override {
    std::atomic<bool> isChanged = false;
    forEach([&](PrunedWeight weight, const PruningSpec &spec) {
      if (weight.prune(countDue(spec, steps))) {
        weight.clear();
        isChanged = true;
      }
    });
    if (isChanged)
      refreshCopies(session);
    return isChanged;
  }
  void clear() override {
    forEach([](PrunedWeight weight, const PruningSpec &) { weight.clear(); });
    refreshCopies(session);
  }
  PrunedElements count() const override {
    PrunedElements counted;
    for (const PruningSpec &spec : specs) {
      PrunedWeight weight(session, spec);
      counted.pruned += weight.count();
      counted.elements += weight.getElements();
      ++counted.weights;
    }
    return counted;
  }

private:
  /// Calls `body` with each weight, several at a time.
  template <typename Body> void forEach(Body body) {
    session.getDevice().forEach(
        static_cast<int64_t>(specs.size()), [&](int64_t number) {
          body(PrunedWeight(session, specs[number]), specs[number]);
        });
  }

  Session &session;
  std::vector<PruningSpec> specs;
};

} // namespace

const PruningPart *ingot::runtime::ingot_pruning() {
  static constexpr PruningPart part = {
      [](Session &session) -> std::unique_ptr<Pruner> {
        return std::make_unique<SessionPruner>(session);
      }};
  return &part;
}
