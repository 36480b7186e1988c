// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/numbers/Product.h"

template <typename T>
std::vector<T> fakes::multiply(const std::vector<T> &a, const std::vector<T> &b,
                               int64_t rows, int64_t columns, int64_t inner) {
  std::vector<T> result(rows * columns);
  // Tiles whose sums stay in registers.
  constexpr int64_t tall = 16, wide = 4;
  for (int64_t j = 0; j < columns; j += wide)
    for (int64_t i = 0; i < rows; i += tall) {
      int64_t height = rows - i < tall ? rows - i : tall;
      int64_t width = columns - j < wide ? columns - j : wide;
      T sums[wide][tall] = {};
      if (height == tall && width == wide) {
        for (int64_t p = 0; p < inner; ++p)
          for (int64_t y = 0; y < wide; ++y) {
            T factor = b[(j + y) * inner + p];
            for (int64_t x = 0; x < tall; ++x)
              sums[y][x] += a[p * rows + i + x] * factor;
          }
      } else {
        for (int64_t p = 0; p < inner; ++p)
          for (int64_t y = 0; y < width; ++y)
            for (int64_t x = 0; x < height; ++x)
              sums[y][x] += a[p * rows + i + x] * b[(j + y) * inner + p];
      }
      for (int64_t y = 0; y < width; ++y)
        for (int64_t x = 0; x < height; ++x)
          result[(j + y) * rows + i + x] = sums[y][x];
    }
  return result;
}

template std::vector<float> fakes::multiply(const std::vector<float> &,
                                            const std::vector<float> &, int64_t,
                                            int64_t, int64_t);
template std::vector<double> fakes::multiply(const std::vector<double> &,
                                             const std::vector<double> &,
                                             int64_t, int64_t, int64_t);
