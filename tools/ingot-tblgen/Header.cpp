// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Generates the C header runtime/abi/Abi.h.
//===----------------------------------------------------------------------===//

#include "tools/ingot-tblgen/Model.h"

#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;
using namespace ingot::tblgen;

static constexpr size_t kWidth = 80;

static void emitDescription(const Record *record, raw_ostream &os) {
  os << '\n';
  emitComment(record->getValueAsString("description"), "///", 0, kWidth, os);
}

static void emitEnum(const Record *type, raw_ostream &os) {
  StringRef name = type->getValueAsString("name");
  os << "typedef enum " << name << " {\n";
  for (const Record *each : type->getValueAsListOfDefs("cases")) {
    emitComment(each->getValueAsString("description"), "///", 2, kWidth, os);
    os << "  " << each->getValueAsString("symbol") << " = "
       << each->getValueAsInt("value") << ",\n";
  }
  os << "} " << name << ";\n";
}

static void emitStruct(const Record *type, raw_ostream &os) {
  StringRef name = type->getValueAsString("name");
  os << "typedef struct " << name << " {\n";
  // Adjacent fields of one type without descriptions of their own share a line.
  std::string line, previous;
  auto flush = [&] {
    if (!line.empty())
      os << line << ";\n";
    line.clear();
  };
  for (const Field &field : getFields(type)) {
    std::string cType = field.getCType();
    StringRef text = field.record->getValueAsString("description");
    std::string description = text.trim().str();
    if (field.type->isSubClassOf("Enum") && description.empty() &&
        previous != field.type->getValueAsString("name"))
      description =
          ("One of " + field.type->getValueAsString("name") + ".").str();
    std::string declared = field.name.str();
    if (field.isArray())
      declared +=
          ("[" +
           field.record->getValueAsDef("count")->getValueAsString("name") + "]")
              .str();
    bool isSame = previous == field.type->getValueAsString("name");
    previous = field.type->getValueAsString("name").str();
    bool isPointer = StringRef(cType).ends_with("*");
    bool isReserved = field.record->getValueAsString("source") == "Reserved";
    if (!line.empty() && isSame && description.empty() && !isPointer &&
        !isReserved && line.size() + declared.size() + 3 <= kWidth) {
      line += ", " + declared;
      continue;
    }
    flush();
    emitComment(description, "///", 2, kWidth, os);
    line = "  " + cType + (isPointer ? "" : " ") + declared;
  }
  flush();
  os << "} " << name << ";\n";
}

static void emitCallback(const Record *type, raw_ostream &os) {
  std::vector<std::string> parameters;
  for (StringRef parameter : type->getValueAsListOfStrings("parameters"))
    parameters.push_back(parameter.str());
  os << joinParameters(
            ("typedef void (*" + type->getValueAsString("name") + ")(").str(),
            parameters)
     << '\n';
}

/// Prints one record of the file.
static void emitRecord(const Record *record, raw_ostream &os) {
  if (record->isSubClassOf("Section")) {
    os << "\n//===" << std::string(kWidth - 10, '-') << "===//\n// "
       << record->getValueAsString("title") << '\n';
    StringRef text = record->getValueAsString("description");
    if (!text.trim().empty())
      os << "//\n";
    emitComment(text, "//", 0, kWidth, os);
    os << "//===" << std::string(kWidth - 10, '-') << "===//\n";
    return;
  }
  emitDescription(record, os);
  if (record->isSubClassOf("Constant")) {
    int64_t value = record->getValueAsInt("value");
    os << "#define " << record->getValueAsString("name") << ' ';
    if (value < 0)
      os << '(' << value << ")\n";
    else
      os << value << '\n';
  } else if (record->isSubClassOf("Opaque")) {
    StringRef name = record->getValueAsString("name");
    os << "typedef struct " << name << ' ' << name << ";\n";
  } else if (record->isSubClassOf("Enum")) {
    emitEnum(record, os);
  } else if (record->isSubClassOf("Callback")) {
    emitCallback(record, os);
  } else if (record->isSubClassOf("Struct")) {
    emitStruct(record, os);
  } else {
    os << getPrototype(record) << '\n';
  }
}

static void emitHeader(const RecordKeeper &records, raw_ostream &os) {
  os << "//===" << std::string(kWidth - 10, '-') << "===//\n"
     << "//\n"
     << "// The C ABI between a compiled training step and the runtime.\n"
     << "// Generated from runtime/abi/Abi.td: edit that.\n"
     << "//\n"
     << "//===" << std::string(kWidth - 10, '-') << "===//\n\n"
     << "#ifndef INGOT_RUNTIME_ABI_ABI_H\n#define INGOT_RUNTIME_ABI_ABI_H\n\n"
     << "#include <stdint.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  emitComment("A hash of every struct, entry and constant below. A trainer "
              "refuses a module with another version at start.",
              "///", 0, kWidth, os);
  os << "#define INGOT_ABI_VERSION " << getVersion(records) << "\n";
  std::vector<const Record *> all;
  for (StringRef kind : {"Section", "Constant", "Opaque", "Enum", "Callback",
                         "Struct", "Entry", "Function", "Definition"})
    llvm::append_range(all, list(records, kind));
  llvm::sort(all, LessRecordByID());
  for (const Record *record : all) {
    if (!record->isSubClassOf("Definition")) {
      emitRecord(record, os);
      continue;
    }
    os << "\nextern const "
       << record->getValueAsDef("type")->getValueAsString("name") << ' '
       << record->getValueAsString("symbol") << ";\n";
  }
  os << "\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n\n"
     << "#endif // INGOT_RUNTIME_ABI_ABI_H\n";
}

static TableGen::Emitter::Opt generator("gen-abi-header", emitHeader,
                                        "Generate the C header of the ABI");
