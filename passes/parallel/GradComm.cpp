// SPDX-License-Identifier: Apache-2.0

#include "passes/parallel/GradComm.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;

Type GradComm::getSentType(MLIRContext *context) const {
  Builder builder(context);
  if (sent.empty())
    return {};
  return sent == "bf16" ? Type(builder.getBF16Type()) : builder.getF16Type();
}

llvm::Expected<GradComm> GradComm::parse(StringRef text) {
  auto fail = [](const llvm::Twine &what) {
    return makeOptionError(
        "grad-comm", what,
        "give bf16, fp16, powersgd:RANK, int8 or topk:FRACTION (below 0.5), "
        "and "
        "start:STEPS or min-rate:RATE with these, separated by commas");
  };
  GradComm parsed;
  bool hasStart = false, hasRate = false;
  SmallVector<StringRef> words;
  if (!text.empty())
    text.split(words, ',');
  for (StringRef word : words) {
    auto [key, value] = word.split(':');
    bool isFine = false;
    if (word == "bf16" || word == "fp16") {
      isFine = parsed.sent.empty();
      parsed.sent = word == "bf16" ? "bf16" : "fp16";
    } else if (key == "powersgd") {
      isFine = !parsed.compresses() && !value.getAsInteger(10, parsed.rank) &&
               parsed.rank >= 1 && parsed.rank <= 64;
    } else if (word == "int8") {
      isFine = !parsed.compresses();
      parsed.format = CompressionFormat::Int8;
    } else if (key == "topk") {
      isFine = !parsed.compresses() && !value.getAsDouble(parsed.share) &&
               parsed.share > 0 && parsed.share < 0.5;
      parsed.format = CompressionFormat::TopK;
    } else if (key == "start") {
      isFine = !value.getAsInteger(10, parsed.start) && parsed.start >= 0;
      hasStart = true;
    } else if (key == "min-rate") {
      isFine = !value.getAsDouble(parsed.minRate) && parsed.minRate >= 1;
      hasRate = true;
    }
    if (!isFine)
      return fail("'" + word + "' is not a format for gradients");
  }
  if (hasStart && !parsed.compresses())
    return fail("start requires a compression");
  if (hasRate && parsed.rank == 0)
    return fail("min-rate requires powersgd");
  if (parsed.encodes() && !parsed.sent.empty())
    return fail("'" + parsed.sent + "' is not a format for " +
                stringifyCompressionFormat(parsed.format));
  return parsed;
}
