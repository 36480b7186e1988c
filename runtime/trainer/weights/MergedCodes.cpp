// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/MergedCodes.h"

#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/EncodedParts.h"
#include "runtime/trainer/state/StateValues.h"

using namespace ingot::runtime;
using namespace ingot;

std::vector<float> ingot::runtime::readMerged(const Session &session,
                                              const StateSpec &spec) {
  std::vector<float> values(spec.getWholeElements());
  const auto count = static_cast<int64_t>(values.size());
  if (const AdapterSpec *adapter =
          findAdapter(session.getManifest(), spec.name))
    ingot_adapters()->openMerged(session, *adapter)(0, count, values.data(),
                                                    DType::F32);
  else
    readValues(session, spec, 0, count, values.data(), DType::F32);
  return values;
}

quantization::Encoding ingot::runtime::getFileEncoding(const ExportCodes &how) {
  return {static_cast<ingot_encoding>(how.kind), how.block};
}

std::vector<float>
ingot::runtime::roundToCodes(const StateSpec &spec, const ExportCodes &how,
                             const std::vector<float> &numbers) {
  const std::vector<int64_t> &shape = spec.getWholeShape();
  const auto elements = static_cast<int64_t>(numbers.size());
  std::vector<float> rows = numbers;
  if (how.transposed)
    rows = transposeMatrix(numbers.data(), shape[0], shape[1]);
  const quantization::Encoding encoding = getFileEncoding(how);
  const quantization::Encoded encoded =
      quantization::encode(encoding, rows.data(), elements);
  const quantization::Parts parts = {encoded.codes.data(),
                                     encoded.scales.data(), nullptr};
  quantization::Decoder(encoding, parts, elements)
      .decode(0, elements, rows.data());
  return how.transposed ? transposeMatrix(rows.data(), shape[1], shape[0])
                        : rows;
}
