// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Products of matrices, for the fakes of cuBLASLt and cuDNN.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_PRODUCT_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_PRODUCT_H

#include <cstdint>
#include <vector>

namespace fakes {

/// Returns the column-major product of `a`, stored as [inner][rows], and `b`,
/// stored as [columns][inner]. Each element is summed in order, in its type.
template <typename T>
std::vector<T> multiply(const std::vector<T> &a, const std::vector<T> &b,
                        int64_t rows, int64_t columns, int64_t inner);

extern template std::vector<float> multiply(const std::vector<float> &,
                                            const std::vector<float> &, int64_t,
                                            int64_t, int64_t);
extern template std::vector<double> multiply(const std::vector<double> &,
                                             const std::vector<double> &,
                                             int64_t, int64_t, int64_t);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_PRODUCT_H
