// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/FiniteWeights.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/trainer/state/CompiledWeights.h"
#include "runtime/trainer/state/LiveValues.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>

using namespace ingot::runtime;

/// The elements that are looked at together.
static constexpr int64_t kPiece = LiveValues::kPiece;

/// Counts the floats whose bits of the exponent are all set. Their memory need
/// not be aligned.
template <typename Word>
static int64_t countExponents(const char *data, int64_t count, Word exponent) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, data + i * sizeof(Word), sizeof(Word));
    found += (word & exponent) == exponent;
  }
  return found;
}

static int64_t countNotFinite(const char *data, DType dtype, int64_t count) {
  switch (dtype) {
  case DType::F64:
    return countExponents<uint64_t>(data, count, 0x7ff0000000000000);
  case DType::F32:
    return countExponents<uint32_t>(data, count, 0x7f800000);
  case DType::F16:
    return countExponents<uint16_t>(data, count, 0x7c00);
  case DType::BF16:
    return countExponents<uint16_t>(data, count, 0x7f80);
  default:
    return 0;
  }
}

namespace {

/// The model's values before the first step, for the rare state that has
/// infinities.
class InitialValues {
public:
  explicit InitialValues(Session &session) : session(session) {
    try {
      weights.emplace(session);
    } catch (const Error &) {
      // Without them, no infinity is known to be the model's.
    }
  }

  /// Returns values as `dtype`, valid until the next call; null if the state
  /// does not begin with known ones.
  const char *get(const StateSpec &spec, int64_t first, int64_t count,
                  DType dtype);

private:
  const Session &session;
  std::optional<CompiledWeights> weights;
  std::array<double, kPiece> values;
};

} // namespace

const char *InitialValues::get(const StateSpec &spec, int64_t first,
                               int64_t count, DType dtype) {
  if (spec.init.kind == InitKind::Fill) {
    double value = spec.init.value.value_or(0);
    for (int64_t i = 0; i < count; ++i)
      convert(&value, DType::F64,
              reinterpret_cast<char *>(values.data()) + i * getSize(dtype),
              dtype, 1);
    return reinterpret_cast<const char *>(values.data());
  }
  const TensorView *tensor = weights && spec.init.kind == InitKind::Weights
                                 ? weights->find(spec.name)
                                 : nullptr;
  if (!tensor || !isFloat(tensor->dtype) ||
      tensor->shape != spec.getWholeShape())
    return nullptr;
  session.getPlaces(spec).forEach(
      {first, first + count}, [&](const PartPlaces::Run &run) {
        if (run.whole >= 0)
          convert(tensor->data.data() + run.whole * getSize(tensor->dtype),
                  tensor->dtype,
                  reinterpret_cast<char *>(values.data()) +
                      (run.first - first) * getSize(dtype),
                  dtype, run.count);
      });
  return reinterpret_cast<const char *>(values.data());
}

/// Whether what is not finite in the piece is the model's own: what the
/// compiler found in it there. NaN is that of constants alone, since nothing
/// comes of a weight that is NaN.
static bool isOwn(const char *values, const char *initial, DType dtype,
                  int64_t count, bool isConstant) {
  for (int64_t i = 0; i < count; ++i) {
    double value = readAsDouble(values + i * getSize(dtype), dtype);
    if (std::isfinite(value))
      continue;
    double before = readAsDouble(initial + i * getSize(dtype), dtype);
    bool isSame =
        std::isnan(value) ? isConstant && std::isnan(before) : value == before;
    if (!isSame)
      return false;
  }
  return true;
}

std::vector<LeavingState> ingot::runtime::listModel(const Manifest &manifest) {
  std::vector<LeavingState> states;
  for (const StateSpec &spec : manifest.states)
    if (spec.isModel())
      states.push_back({&spec, spec.dtype});
  return states;
}

namespace {

/// Looks at states piece by piece, and describes those that are not finite.
class FiniteCheck {
public:
  explicit FiniteCheck(Session &session) : session(session) {}

  /// Looks at elements of a state, at most kPiece of them.
  void look(const StateSpec &spec, const char *piece, int64_t first,
            int64_t count, DType dtype) {
    int64_t some = countNotFinite(piece, dtype, count);
    if (some == 0)
      return;
    if (!model)
      model.emplace(session);
    const char *initial = model->get(spec, first, count, dtype);
    if (!initial ||
        !isOwn(piece, initial, dtype, count, spec.role == StateRole::Frozen))
      bad += some;
  }
  /// Ends a state of `count` elements.
  void end(const StateSpec &spec, int64_t count) {
    if (bad != 0)
      found.push_back(
          fmt::format("{} ({} of {} values)", spec.name, bad, count));
    bad = 0;
  }

  std::vector<std::string> found;

private:
  Session &session;
  std::optional<InitialValues> model;
  int64_t bad = 0;
};

} // namespace

std::vector<std::string>
ingot::runtime::findNotFinite(Session &session,
                              const std::vector<LeavingState> &states) {
  FiniteCheck check(session);
  for (const auto &[spec, dtype] : states) {
    // What is still in the weights is the model's own.
    if (!isFloat(spec->dtype) || !isFloat(dtype) ||
        session.getFiled().contain(*spec))
      continue;
    LiveValues values(session, *spec);
    auto [begin, end] = values.getHeld();
    // Padding of a part may hold anything.
    session.getPlaces(*spec).forEach(
        {begin, end}, [&](const PartPlaces::Run &run) {
          int64_t last = run.whole < 0 ? run.first : run.first + run.count;
          for (int64_t i = run.first; i < last; i += kPiece) {
            int64_t count = std::min(kPiece, last - i);
            check.look(*spec, values.get(i, count, dtype), i, count, dtype);
          }
        });
    check.end(*spec, end - begin);
  }
  return check.found;
}

std::vector<std::string>
ingot::runtime::findNotFinite(Session &session, const SafeTensors &copy) {
  FiniteCheck check(session);
  for (const auto &[spec, dtype] : listModel(session.getManifest())) {
    auto tensor = copy.tensors.find(spec->name);
    if (tensor == copy.tensors.end() || !isFloat(tensor->second.dtype))
      continue;
    const TensorView &view = tensor->second;
    int64_t size = getSize(view.dtype), first = 0;
    auto look = [&](std::string_view bytes) {
      int64_t count = static_cast<int64_t>(bytes.size()) / size;
      for (int64_t i = 0; i < count; i += kPiece) {
        int64_t part = std::min(kPiece, count - i);
        check.look(*spec, bytes.data() + i * size, first + i, part, view.dtype);
      }
      first += count;
    };
    if (view.pieces)
      view.pieces(look);
    else
      look(view.data);
    check.end(*spec, first);
  }
  return check.found;
}

static Error describeNotFinite(const std::string &where,
                               const std::string &what) {
  return failure(where, what,
                 "lower --lr, add --warmup, or check the data for NaN; --watch "
                 "nan names the first op");
}

void ingot::runtime::requireFinite(Session &session, const SafeTensors &copy,
                                   const std::string &where) {
  if (auto found = findNotFinite(session, copy); !found.empty())
    throw describeNotFinite(where,
                            "the weights are not finite: " + listNames(found));
}

std::optional<Error>
ingot::runtime::explainNotFinite(Session &session, Communicator &ranks,
                                 const std::string &where) {
  std::vector<std::string> found =
      findNotFinite(session, listModel(session.getManifest()));
  if (ranks.agree(found.empty() ? 0 : 1, "a check of the weights") == 0)
    return std::nullopt;
  return describeNotFinite(
      where, found.empty() ? "weights of another rank are not finite"
                           : "the weights are not finite: " + listNames(found));
}
