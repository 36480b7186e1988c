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
#include <utility>
#include <vector>

using namespace ingot::runtime;

namespace {

/// A matrix in f64, by rows.
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
  const std::vector<int64_t> &shape = spec.getWholeShape();
  Matrix matrix{shape[0], shape[1], {}};
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

/// The sum is rounded once, so that it is the same in pieces of any size.
static void readMerged(const Session &session, const AdapterSpec &adapter,
                       int64_t first, int64_t count, void *to, DType toType) {
  const StateSpec &weight = *session.getManifest().findState(adapter.weight);
  Matrix a = readMatrix(session, adapter.a), b = readMatrix(session, adapter.b);
  const Matrix left = adapter.transposed ? transpose(a) : std::move(b);
  const Matrix right = adapter.transposed ? transpose(b) : std::move(a);
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
  convert(reinterpret_cast<const char *>(sum.data()), DType::F64,
          static_cast<char *>(to), toType, count);
}

const AdapterPart *ingot::runtime::ingot_adapters() {
  static constexpr AdapterPart part = {readMerged, writeAdapterFiles,
                                       readAdapterFiles};
  return &part;
}
