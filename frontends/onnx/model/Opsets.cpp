// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/Node.h"
#include "onnx/defs/schema.h"
#include <algorithm>

using namespace llvm;
using namespace ingot;
using namespace ingot::onnx_import;

int onnx_import::opsetVersion(const onnx::ModelProto &model, StringRef domain) {
  for (const onnx::OperatorSetIdProto &opset : model.opset_import())
    if (canonicalDomain(opset.domain()) == canonicalDomain(domain))
      return static_cast<int>(std::clamp<int64_t>(opset.version(), 0, 1 << 20));
  return 0;
}

int onnx_import::newestOpset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
      .Map()
      .at("")
      .second;
}
