// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The tensor maps of a generated matmul's operands: how the tensor memory
// accelerator finds tiles of them. Addresses do not change while a trainer
// runs, so that maps are encoded once; a launch copies them into the kernel's
// parameters.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_MATMULMAPS_H
#define INGOT_RUNTIME_CUDA_MATMULMAPS_H

#include "runtime/abi/Abi.h"
#include "runtime/cuda/driver/Driver.h"

namespace ingot::runtime {

class MatmulMaps {
public:
  /// Whether the maps are of matrices at these addresses.
  bool isOf(const void *a, const void *b) const {
    return a == addresses[0] && b == addresses[1];
  }
  /// Throws failure where the driver refuses a matrix.
  void encode(const Driver &driver, const ingot_matmul_grid_desc &matmul,
              const void *a, const void *b);
  void *getLhs() { return &maps[0]; }
  void *getRhs() { return &maps[1]; }

private:
  CUtensorMap maps[2] = {};
  const void *addresses[2] = {};
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_MATMULMAPS_H
