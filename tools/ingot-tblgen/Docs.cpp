// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Generates the page docs/abi.md.
//===----------------------------------------------------------------------===//

#include "tools/ingot-tblgen/Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;
using namespace ingot::tblgen;

static constexpr size_t kWidth = 118;

static void emitText(StringRef text, raw_ostream &os) {
  if (text.trim().empty())
    return;
  for (const std::string &line : wrap(text, kWidth))
    os << line << '\n';
  os << '\n';
}

/// Returns the description in one line, for a cell of a table.
static std::string cell(const Record *record) {
  return llvm::join(
      wrap(record->getValueAsString("description"), std::string::npos), " ");
}

static void emitFields(const Record *type, raw_ostream &os) {
  os << "| offset | type | field | meaning |\n|---|---|---|---|\n";
  for (const Field &field : getFields(type)) {
    os << "| " << field.offset << " | " << field.type->getValueAsString("name")
       << " | `" << field.name;
    if (field.isArray())
      os << '[' << field.count << ']';
    os << "` | " << cell(field.record) << " |\n";
  }
  os << "\n" << getLayout(type).bytes << " bytes.\n\n";
}

static void emitCases(const Record *type, raw_ostream &os) {
  os << "| value | symbol | in the compiler's IR | meaning |\n"
     << "|---|---|---|---|\n";
  for (const Record *each : type->getValueAsListOfDefs("cases"))
    os << "| " << each->getValueAsInt("value") << " | `"
       << each->getValueAsString("symbol") << "` | `"
       << each->getValueAsString("name") << "` | " << cell(each) << " |\n";
  os << "\n";
}

static StringRef describeEffect(const Record *buffer) {
  bool isRead = buffer->getValueAsBit("isRead");
  if (buffer->getValueAsBit("isScratch"))
    return "scratch";
  if (isRead && buffer->getValueAsBit("isWritten"))
    return buffer->getValueAsBit("isConst")   ? "in flight"
           : buffer->getValueAsBit("isShard") ? "in, out: the rank's shard"
                                              : "in, out";
  return !isRead                               ? "out"
         : buffer->getValueAsBit("isOptional") ? "in, may be null"
                                               : "in";
}

static void emitBuffers(const Record *entry, raw_ostream &os) {
  std::vector<const Record *> buffers = entry->getValueAsListOfDefs("buffers");
  if (buffers.empty())
    return;
  os << "| buffer | effect | elements | size |\n|---|---|---|---|\n";
  for (const Record *buffer : buffers) {
    StringRef bytes = buffer->getValueAsString("bytes");
    os << "| `" << buffer->getValueAsString("name") << "` | "
       << describeEffect(buffer) << " | " << buffer->getValueAsString("type")
       << " | " << llvm::join(buffer->getValueAsListOfStrings("shape"), " × ");
    if (!bytes.empty())
      os << bytes << " bytes";
    os << " |\n";
  }
  os << "\n";
}

static void emitFunction(const Record *function, raw_ostream &os) {
  os << "```c\n" << getPrototype(function) << "\n```\n\n";
  emitText(function->getValueAsString("description"), os);
  if (!function->isSubClassOf("Entry"))
    return;
  emitBuffers(function, os);
  os << "Targets: "
     << llvm::join(function->getValueAsListOfStrings("targets"), ", ")
     << ". Kind in the manifest: `" << function->getValueAsString("kind")
     << "`.\n\n";
}

static void emitDocs(const RecordKeeper &records, raw_ostream &os) {
  os << "# The C ABI\n\n"
     << "Generated from `runtime/abi/Abi.td`; edit that, then build the target "
        "`ingot-docs`.\n\n";
  emitText("What couples a compiled training step and the runtime: structs, "
           "entries and constants of the header `Abi.h`, which the "
           "build makes of the same records. `INGOT_ABI_VERSION` is a hash of "
           "them without descriptions: a trainer refuses a module with another "
           "one.",
           os);
  std::vector<const Record *> all;
  for (StringRef kind : {"Section", "Constant", "Opaque", "Enum", "Callback",
                         "Struct", "Entry", "Function"})
    llvm::append_range(all, list(records, kind));
  llvm::sort(all, LessRecordByID());
  for (const Record *record : all) {
    if (record->isSubClassOf("Section")) {
      os << "## " << record->getValueAsString("title") << "\n\n";
      emitText(record->getValueAsString("description"), os);
      continue;
    }
    bool isFunction =
        record->isSubClassOf("Entry") || record->isSubClassOf("Function");
    os << "### `" << record->getValueAsString(isFunction ? "symbol" : "name")
       << "`\n\n";
    if (isFunction) {
      emitFunction(record, os);
      continue;
    }
    if (record->isSubClassOf("Constant"))
      os << "The number " << record->getValueAsInt("value") << ".\n\n";
    if (record->isSubClassOf("Callback"))
      os << "```c\nvoid (*)("
         << llvm::join(record->getValueAsListOfStrings("parameters"), ", ")
         << ")\n```\n\n";
    emitText(record->getValueAsString("description"), os);
    if (record->isSubClassOf("Enum"))
      emitCases(record, os);
    if (record->isSubClassOf("Struct"))
      emitFields(record, os);
  }
}

static TableGen::Emitter::Opt generator("gen-abi-docs", emitDocs,
                                        "Generate the page about the ABI");
