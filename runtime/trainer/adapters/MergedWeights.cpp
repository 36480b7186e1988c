// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Weights with their adapters, as a model without adapters has them.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/adapters/AdapterFiles.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

using namespace ingot::runtime;

namespace {

/// A matrix in f64, by rows. Of filters, a row is one of an output channel.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  const double *getRow(int64_t row) const {
    return values.data() + row * columns;
  }
};

} // namespace

static Matrix readMatrix(const Session &session, const std::string &name) {
  const StateSpec &spec = *session.getManifest().findState(name);
  int64_t rows = spec.getWholeShape()[0];
  Matrix matrix{rows, spec.getWholeElements() / rows, {}};
  matrix.values.resize(spec.getWholeElements());
  readValues(session, spec, 0, spec.getWholeElements(), matrix.values.data(),
             DType::F64);
  return matrix;
}

static Matrix transpose(const Matrix &matrix) {
  Matrix result{matrix.columns, matrix.rows, {}};
  result.values.resize(matrix.values.size());
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t k = 0; k < matrix.columns; ++k)
      result.values[k * matrix.rows + i] =
          matrix.values[i * matrix.columns + k];
  return result;
}

namespace {

/// The sum is rounded once, so that it is the same in pieces of any size.
class MergedWeight {
public:
  MergedWeight(const Session &session, const AdapterSpec &adapter);

  void read(int64_t first, int64_t count, void *to, DType toType) const;
  const std::vector<double> &getFactors() const { return factors; }

private:
  std::vector<double> readSum(int64_t first, int64_t count) const;
  /// The row of W + scale * B * A that an element is of.
  int64_t getRow(int64_t element) const {
    return adapter.transposed ? element % right.columns
                              : element / right.columns;
  }

  const Session &session;
  const AdapterSpec &adapter;
  const StateSpec &weight;
  Matrix left, right;
  /// The magnitude of each row divided by its norm; empty without magnitudes.
  std::vector<double> factors;
};

} // namespace

/// The smallest square of a norm that steps divide by.
static constexpr double kLeastSquare = std::numeric_limits<float>::min();

MergedWeight::MergedWeight(const Session &session, const AdapterSpec &adapter)
    : session(session), adapter(adapter),
      weight(*session.getManifest().findState(adapter.weight)) {
  Matrix a = readMatrix(session, adapter.a), b = readMatrix(session, adapter.b);
  left = adapter.transposed ? transpose(a) : std::move(b);
  right = adapter.transposed ? transpose(b) : std::move(a);
  if (adapter.magnitude.empty())
    return;
  const StateSpec &magnitude =
      *session.getManifest().findState(adapter.magnitude);
  std::vector<double> squares(magnitude.getWholeElements());
  for (int64_t i = 0; i < left.rows; ++i) {
    std::vector<double> sum = readSum(i * right.columns, right.columns);
    for (int64_t k = 0; k < right.columns; ++k)
      squares[getRow(i * right.columns + k)] += sum[k] * sum[k];
  }
  factors.resize(squares.size());
  readValues(session, magnitude, 0, magnitude.getWholeElements(),
             factors.data(), DType::F64);
  for (size_t i = 0; i < factors.size(); ++i)
    factors[i] /= std::sqrt(std::max(squares[i], kLeastSquare));
}

std::vector<double> MergedWeight::readSum(int64_t first, int64_t count) const {
  std::vector<double> sum(count);
  readValues(session, weight, first, count, sum.data(), DType::F64);
  for (int64_t i = first; i < first + count;) {
    int64_t row = i / right.columns, column = i % right.columns;
    int64_t some = std::min(right.columns - column, first + count - i);
    double *values = sum.data() + (i - first);
    for (int64_t k = 0; k < left.columns; ++k) {
      const double factor = adapter.scale * left.getRow(row)[k];
      const double *added = right.getRow(k) + column;
      for (int64_t n = 0; n < some; ++n)
        values[n] += factor * added[n];
    }
    i += some;
  }
  return sum;
}

void MergedWeight::read(int64_t first, int64_t count, void *to,
                        DType toType) const {
  std::vector<double> sum = readSum(first, count);
  if (!factors.empty())
    for (int64_t i = 0; i < count; ++i)
      sum[i] *= factors[getRow(first + i)];
  convert(reinterpret_cast<const char *>(sum.data()), DType::F64,
          static_cast<char *>(to), toType, count);
}

std::vector<double> ingot::runtime::readFactors(const Session &session,
                                                const AdapterSpec &adapter) {
  if (adapter.magnitude.empty())
    return {};
  return MergedWeight(session, adapter).getFactors();
}

static MergedReader openMerged(const Session &session,
                               const AdapterSpec &adapter) {
  auto merged = std::make_shared<MergedWeight>(session, adapter);
  return [merged](int64_t first, int64_t count, void *to, DType toType) {
    merged->read(first, count, to, toType);
  };
}

const AdapterPart *ingot::runtime::ingot_adapters() {
  static constexpr AdapterPart part = {openMerged, startMagnitudes,
                                       writeAdapterFiles, addSlots,
                                       readAdapterFiles};
  return &part;
}
