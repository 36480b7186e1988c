// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Counter-based random numbers: docs/spec/random.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"
#include "dialects/reference/ops/ReferencePhilox.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

std::array<uint32_t, 4>
ingot::reference::philox(std::array<uint32_t, 4> counter,
                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0];
    uint64_t b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double ingot::reference::uniformAt(int64_t seed, int64_t step, uint32_t stream,
                                   int64_t position) {
  uint64_t block = static_cast<uint64_t>(position) / 4;
  std::array<uint32_t, 4> words =
      philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
              static_cast<uint32_t>(step), stream},
             {static_cast<uint32_t>(seed),
              static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)});
  return (words[position % 4] >> 8) * 0x1p-24;
}

/// Returns the position in the whole tensor of an element of a part.
template <typename Op>
static int64_t getPosition(Op op, const Tensor *first, int64_t element) {
  if (!op.getWhole())
    return element;
  ArrayRef<int64_t> own =
      cast<RankedTensorType>(op.getResult().getType()).getShape();
  int64_t position = first->integer(0), stride = 1;
  for (size_t dim = own.size(); dim-- > 0;) {
    position += element % own[dim] * stride;
    element /= own[dim];
    stride *= (*op.getWhole())[dim];
  }
  return position;
}

static void randomUniform(RandomUniformOp op, Operands in, Results out) {
  for (int64_t i = 0, e = out[0].size(); i < e; ++i)
    out[0].real(i) =
        uniformAt(in[0].integer(0), in[1].integer(0), op.getStream(),
                  getPosition(op, op.getFirst() ? &in[2] : nullptr, i));
}

static void dropout(DropoutOp op, Operands in, Results out) {
  double ratio = op.getRatio().convertToDouble();
  // Drawn and compared in f32 whatever the precision.
  double threshold = static_cast<float>(ratio);
  for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
    int64_t at = getPosition(op, op.getFirst() ? &in[3] : nullptr, i);
    bool stays = uniformAt(in[1].integer(0), in[2].integer(0), op.getStream(),
                           at) >= threshold;
    out[0].real(i) = stays ? in[0].real(i) / (1 - ratio) : 0;
    out[1].integer(i) = stays;
  }
}

void ingot::reference::registerRandom(Registry &registry) {
  registry.add<RandomUniformOp>(randomUniform);
  registry.add<DropoutOp>(dropout);
}
