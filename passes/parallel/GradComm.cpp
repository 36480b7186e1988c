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
      return llvm::createStringError("'" + word +
                                     "' is not a format for gradients");
  }
  if (hasStart && !parsed.compresses())
    return llvm::createStringError("start requires a compression");
  if (hasRate && parsed.rank == 0)
    return llvm::createStringError("min-rate requires powersgd");
  if (parsed.encodes() && !parsed.sent.empty())
    return llvm::createStringError("'" + parsed.sent +
                                   "' is not a format for " +
                                   stringifyCompressionFormat(parsed.format));
  return parsed;
}

FailureOr<GradComm> GradComm::parse(MLIRContext *context, StringRef text) {
  llvm::Expected<GradComm> parsed = parse(text);
  if (parsed)
    return *parsed;
  (void)emitUserError(NameLoc::get(StringAttr::get(context, "--grad-comm")),
                      llvm::toString(parsed.takeError()), kHint);
  return failure();
}
