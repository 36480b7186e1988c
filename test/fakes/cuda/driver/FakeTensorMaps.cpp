// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensor maps of the fake driver (Fakes.h), with the rules of the driver's
// documentation ("Tensor Map Object Managment") for tiles that are not
// interleaved.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/driver/DriverState.h"

using namespace fakes;

extern "C" CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill fill) {
  fakes::Turn turn;
  using ptx::TensorMap;
  FAIL_IF_ASKED(" rank=%u", rank);
  auto place = reinterpret_cast<uintptr_t>(address);
  REQUIRE(reinterpret_cast<uintptr_t>(map) % TensorMap::alignment == 0,
          CUDA_ERROR_INVALID_VALUE);
  // What kernels here do not use is refused.
  REQUIRE(type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
              type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(rank >= 1 && rank <= TensorMap::mostDims, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(interleave == CU_TENSOR_MAP_INTERLEAVE_NONE,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ||
              swizzle == CU_TENSOR_MAP_SWIZZLE_128B,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(place % 16 == 0, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(isOnDevice(place, 1), CUDA_ERROR_INVALID_VALUE);
  TensorMap made;
  made.magic = TensorMap::valid;
  made.rank = rank;
  made.elementBytes = 2;
  made.swizzleBytes = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : 0;
  made.address = place;
  for (int i = 0; i < TensorMap::mostDims; ++i)
    made.sizes[i] = made.box[i] = 1;
  uint64_t least = made.elementBytes;
  for (cuuint32_t i = 0; i < rank; ++i) {
    made.sizes[i] = sizes[i];
    made.strides[i] = i == 0 ? made.elementBytes : strides[i - 1];
    made.box[i] = box[i];
    REQUIRE(sizes[i] > 0 && sizes[i] <= uint64_t(1) << 32,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(box[i] > 0 && box[i] <= 256, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(steps[i] == 1, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(i == 0 || (made.strides[i] % 16 == 0 && made.strides[i] >= least &&
                       made.strides[i] < uint64_t(1) << 40),
            CUDA_ERROR_INVALID_VALUE);
    least = made.strides[i] * sizes[i];
  }
  REQUIRE(box[0] * made.elementBytes % 16 == 0, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(made.swizzleBytes == 0 ||
              box[0] * made.elementBytes <= made.swizzleBytes,
          CUDA_ERROR_INVALID_VALUE);
  *map = {};
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}
