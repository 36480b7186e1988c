// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/numbers/MatmulCall.h"

#include "test/fakes/cuda/numbers/Product.h"

#include <cmath>

using namespace fakes;

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// "128-element 1D and 128x128 2D Block Scaling" and "1D Block Scaling Factors
// Layout" of cuBLAS' documentation.
double Scales::get(int64_t row, int64_t inner, int64_t rows, int64_t k) const {
  if (!data)
    return 1;
  auto at = [&](int64_t place) { return load(data, place, Element::F32); };
  int64_t tilesInner = divideUp(k, 128);
  switch (mode) {
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
    return at(inner / 128 * rows + row);
  case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
    return at(row / 128 * (divideUp(tilesInner, 4) * 4) + inner / 128);
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: {
    int64_t outer = row % 128, part = inner / 32;
    int64_t tile = (part / 4 * 4 + row / 128 * (tilesInner * 128) / 32) * 128;
    int64_t within = outer % 32 * 16 + outer / 32 * 4 + part % 4;
    return std::ldexp(1.0,
                      static_cast<const uint8_t *>(data)[tile + within] - 127);
  }
  default:
    return at(0);
  }
}

size_t Scales::getBytes(int64_t rows, int64_t k) const {
  int64_t tiles = divideUp(k, 128);
  switch (mode) {
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
    return 4 * tiles * rows;
  case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
    return 4 * divideUp(tiles, 4) * 4 * divideUp(rows, 128);
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
    return 512 * tiles * divideUp(rows, 128);
  default:
    return 4;
  }
}

/// The elements of op(matrix), column-major, times `scale(row, column)`.
template <typename T, typename Scale>
static std::vector<T> gather(const Matrix &matrix, int64_t batch,
                             bool transposes, bool isTF32, Scale scale) {
  int64_t rows = transposes ? matrix.columns : matrix.rows;
  int64_t columns = transposes ? matrix.rows : matrix.columns;
  std::vector<T> values(rows * columns);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      int64_t at = transposes ? i * matrix.leading + j : j * matrix.leading + i;
      auto value = static_cast<T>(
          load(matrix.data, batch * matrix.batchStride + at, matrix.element));
      if (isTF32)
        value = roundToTF32(static_cast<float>(value));
      value *= static_cast<T>(scale(i, j));
      values[j * rows + i] = value;
    }
  return values;
}

namespace {
// The bits of cublasLtEpilogue_t.
constexpr int relu = CUBLASLT_EPILOGUE_RELU, gelu = 32, aux = 128,
              dRelu = CUBLASLT_EPILOGUE_DRELU & ~aux,
              dGelu = CUBLASLT_EPILOGUE_DGELU & ~aux,
              sumsRows =
                  CUBLASLT_EPILOGUE_DRELU_BGRAD & ~CUBLASLT_EPILOGUE_DRELU;

// The approximation by tanh, of which the library speaks.
constexpr double kScale = 0.7978845608028654, kCube = 0.044715;
double computeGelu(double x) {
  return 0.5 * x * (1 + std::tanh(kScale * (x + kCube * x * x * x)));
}
double computeGeluSlope(double x) {
  double t = std::tanh(kScale * (x + kCube * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * kScale * (1 + 3 * kCube * x * x);
}

/// Applies the epilogue to one product.
template <typename T> class EpilogueWriter {
public:
  EpilogueWriter(const MatmulCall &call, int64_t batch)
      : call(call), batch(batch), rows(call.d.rows), columns(call.d.columns),
        which(call.epilogue) {}

  void write(const std::vector<T> &product) {
    std::vector<T> sums(has(sumsRows) ? rows : 0);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) {
        T value =
            apply(static_cast<T>(call.alpha) * product[j * rows + i], i, j);
        if (!sums.empty())
          sums[i] += value;
        fakes::store(const_cast<void *>(call.d.data),
                     batch * call.d.batchStride + j * call.d.leading + i,
                     call.d.element, value);
      }
    for (size_t i = 0; i < sums.size(); ++i)
      storeBias(static_cast<int64_t>(i), sums[i]);
  }
  void storeBias(int64_t i, T value) {
    fakes::store(call.bias, batch * call.biasStride + i, call.biasElement,
                 value);
  }

private:
  bool has(int bits) const { return (which & bits) != 0; }

  T apply(T value, int64_t i, int64_t j) {
    if (call.beta != 0)
      value +=
          static_cast<T>(call.beta) *
          static_cast<T>(load(
              call.c.data, batch * call.c.batchStride + j * call.c.leading + i,
              call.c.element));
    if (has(CUBLASLT_EPILOGUE_BIAS))
      value += static_cast<T>(
          load(call.bias, batch * call.biasStride + i, call.biasElement));
    int64_t place =
        batch * call.auxiliaryStride + j * call.auxiliaryLeading + i;
    auto *bits = static_cast<uint8_t *>(call.auxiliary);
    if (has(dRelu))
      return bits[place / 8] >> place % 8 & 1 ? value : T(0);
    if (has(dGelu))
      return value * static_cast<T>(computeGeluSlope(
                         load(call.auxiliary, place, call.d.element)));
    if (has(gelu)) {
      if (has(aux))
        fakes::store(call.auxiliary, place, call.d.element, value);
      return static_cast<T>(computeGelu(value));
    }
    if (has(relu)) {
      // The library sets the bit of 0 as well, as seen on an H100.
      bool isSet = value >= 0;
      if (has(aux))
        bits[place / 8] = static_cast<uint8_t>(
            (bits[place / 8] & ~(1 << place % 8)) | isSet << place % 8);
      return value > 0 || value != value ? value : T(0);
    }
    return value;
  }

  const MatmulCall &call;
  int64_t batch, rows, columns;
  int which;
};

template <typename T> void computeIn(const MatmulCall &call) {
  int64_t inner = call.transposesA ? call.a.rows : call.a.columns;
  for (int64_t batch = 0; batch < call.batch; ++batch) {
    std::vector<T> a =
        gather<T>(call.a, batch, call.transposesA, call.roundsToTF32,
                  [&](int64_t row, int64_t p) {
                    return call.aScales.get(row, p, call.d.rows, inner);
                  });
    std::vector<T> b =
        gather<T>(call.b, batch, call.transposesB, call.roundsToTF32,
                  [&](int64_t p, int64_t row) {
                    return call.bScales.get(row, p, call.d.columns, inner);
                  });
    EpilogueWriter<T> writer(call, batch);
    writer.write(multiply(a, b, call.d.rows, call.d.columns, inner));
    if (call.epilogue == CUBLASLT_EPILOGUE_BGRADA)
      for (int64_t i = 0; i < call.d.rows; ++i) {
        T sum = 0;
        for (int64_t p = 0; p < inner; ++p)
          sum += a[p * call.d.rows + i];
        writer.storeBias(i, sum);
      }
    if (call.epilogue == CUBLASLT_EPILOGUE_BGRADB)
      for (int64_t j = 0; j < call.d.columns; ++j) {
        T sum = 0;
        for (int64_t p = 0; p < inner; ++p)
          sum += b[j * inner + p];
        writer.storeBias(j, sum);
      }
  }
}
} // namespace

void fakes::forEachAccess(
    const MatmulCall &call,
    const std::function<void(const void *, size_t, bool)> &body) {
  for (const Matrix *read : {&call.a, &call.b})
    body(read->data, read->getBytes(call.batch), /*isWritten=*/false);
  if (call.beta != 0)
    body(call.c.data, call.c.getBytes(call.batch), /*isWritten=*/false);
  body(call.d.data, call.d.getBytes(call.batch), /*isWritten=*/true);
  int64_t inner = call.transposesA ? call.a.rows : call.a.columns;
  body(call.aScales.data, call.aScales.getBytes(call.d.rows, inner),
       /*isWritten=*/false);
  body(call.bScales.data, call.bScales.getBytes(call.d.columns, inner),
       /*isWritten=*/false);
  int which = call.epilogue;
  bool sumsOperand =
      which == CUBLASLT_EPILOGUE_BGRADA || which == CUBLASLT_EPILOGUE_BGRADB;
  int64_t biases =
      which == CUBLASLT_EPILOGUE_BGRADB ? call.d.columns : call.d.rows;
  if (call.bias)
    body(call.bias,
         ((call.batch - 1) * call.biasStride + biases) *
             getSize(call.biasElement),
         sumsOperand || (which & sumsRows) != 0);
  bool isGradient = (which & (dRelu | dGelu)) != 0;
  if (call.auxiliary && (isGradient || (which & aux) != 0)) {
    int64_t elements = (call.batch - 1) * call.auxiliaryStride +
                       call.auxiliaryLeading * call.d.columns;
    bool isBits = (which & (isGradient ? dRelu : relu)) != 0;
    body(call.auxiliary,
         isBits ? elements / 8 : elements * getSize(call.d.element),
         !isGradient);
  }
}

void fakes::compute(const MatmulCall &call) {
  if (call.d.element == Element::F64)
    computeIn<double>(call);
  else
    computeIn<float>(call);
}
