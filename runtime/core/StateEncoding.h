// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The encoding of a state of a manifest.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_STATEENCODING_H
#define INGOT_RUNTIME_CORE_STATEENCODING_H

#include "runtime/abi/BlockEncoding.h"
#include "runtime/abi/ManifestTypes.h"

namespace ingot::runtime {

inline quantization::Encoding getEncoding(const EncodingSpec &spec) {
  static_assert(static_cast<int>(EncodingKind::Nf4) == INGOT_CODE_NF4 &&
                static_cast<int>(EncodingKind::Fp4) == INGOT_CODE_FP4 &&
                static_cast<int>(EncodingKind::Int4) == INGOT_CODE_INT4 &&
                static_cast<int>(EncodingKind::Int8) == INGOT_CODE_INT8);
  if (spec.kind == EncodingKind::Dyn8 || spec.kind == EncodingKind::Udyn8)
    return quantization::Encoding::ofDynamic(spec.kind == EncodingKind::Dyn8,
                                             spec.block);
  return quantization::Encoding::of(static_cast<ingot_encoding>(spec.kind),
                                    spec.block, spec.parts.size() == 3);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_STATEENCODING_H
