// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/WireFields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

using namespace ingot;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

void onnx_import::appendHead(std::string &to, int field, size_t bytes) {
  constexpr size_t most = 20;
  uint8_t head[most];
  uint8_t *end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED),
      head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes),
                                                end);
  to.append(head, end);
}

size_t onnx_import::fieldBytes(size_t bytes) {
  return 1 + CodedOutputStream::VarintSize32(static_cast<uint32_t>(bytes)) +
         bytes;
}

void onnx_import::appendInitializers(std::string &to, llvm::StringRef fields) {
  if (fields.empty())
    return;
  appendHead(to, kGraph, fields.size());
  to.append(fields.data(), fields.size());
}
