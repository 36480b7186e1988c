// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Generates the tables that runtime/abi/Table.h includes, and Abi.def: a macro
// for each struct, field, entry and case, for tests and symbol tables.
//===----------------------------------------------------------------------===//

#include "tools/ingot-tblgen/Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;
using namespace ingot::tblgen;

/// Returns the initializer of a pointer: null, or the address of a variable.
static std::string address(StringRef prefix, const Record *type,
                           StringRef kind) {
  if (!type->isSubClassOf(kind))
    return "nullptr";
  return ("&" + prefix + type->getValueAsString("name")).str();
}

static void emitTableEnum(const Record *type, raw_ostream &os) {
  StringRef name = type->getValueAsString("name");
  os << "inline constexpr Case kCasesOf_" << name << "[] = {\n";
  for (const Record *each : type->getValueAsListOfDefs("cases"))
    os << "    {\"" << each->getValueAsString("name") << "\", "
       << each->getValueAsString("symbol") << "},\n";
  os << "};\ninline constexpr Enum kEnum_" << name << " = {\"" << name
     << "\", kCasesOf_" << name << "};\n\n";
}

static void emitTableStruct(const Record *type, raw_ostream &os) {
  StringRef name = type->getValueAsString("name");
  os << "inline constexpr Field kFieldsOf_" << name << "[] = {\n";
  for (const Field &field : getFields(type)) {
    StringRef encoding = "Integer";
    if (field.type->isSubClassOf("Struct"))
      encoding = "Struct";
    else if (field.type->isSubClassOf("Scalar"))
      encoding = field.type->getValueAsString("encoding");
    os << "    {\"" << field.name << "\", Encoding::" << encoding
       << ", Source::" << field.record->getValueAsString("source") << ", "
       << field.bytes << ", " << field.offset << ", "
       << (field.isArray() ? field.count : 0) << ", "
       << address("kEnum_", field.type, "Enum") << ", "
       << address("kStruct_", field.type, "Struct") << "},\n";
  }
  os << "};\ninline constexpr Struct kStruct_" << name << " = {\"" << name
     << "\", " << getLayout(type).bytes << ", kFieldsOf_" << name << "};\n"
     << "template <> inline constexpr const Struct &structOf<" << name
     << "> = kStruct_" << name << ";\n\n";
}

/// Returns the initializer of a FieldPlace.
static std::string place(const Record *descriptor, StringRef name,
                         const Record *where) {
  if (name.empty())
    return "{nullptr, 0}";
  FieldPath path = findField(descriptor, name, where);
  std::vector<Field> fields = getFields(path.owner);
  auto number = llvm::find_if(fields,
                              [&](const Field &field) {
                                return field.name == path.field.name;
                              }) -
                fields.begin();
  return "{&kFieldsOf_" + path.owner->getValueAsString("name").str() + "[" +
         std::to_string(number) + "], " + std::to_string(path.offset) + "}";
}

static bool isElementType(StringRef type) {
  return llvm::is_contained(
      ArrayRef<StringRef>(
          {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "i1"}),
      type);
}

static void emitTableBuffers(const Record *entry, raw_ostream &os) {
  const Record *descriptor = entry->getValueAsDef("descriptor");
  StringRef symbol = entry->getValueAsString("symbol");
  std::vector<const Record *> buffers = entry->getValueAsListOfDefs("buffers");
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    std::vector<StringRef> shape = buffer->getValueAsListOfStrings("shape");
    if (shape.empty())
      continue;
    os << "inline constexpr Factor kShapeOf_" << symbol << "_" << i
       << "[] = {\n";
    for (StringRef factor : shape) {
      auto [field, divisor] = factor.split('/');
      os << "    {" << place(descriptor, field, entry) << ", "
         << place(descriptor, divisor, entry) << "},\n";
    }
    os << "};\n";
  }
  if (buffers.empty())
    return;
  os << "inline constexpr Buffer kBuffersOf_" << symbol << "[] = {\n";
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    os << "    {\"" << buffer->getValueAsString("name") << "\"";
    for (StringRef flag :
         {"isRead", "isWritten", "isScratch", "isOptional", "isShard"})
      os << ", " << (buffer->getValueAsBit(flag) ? "true" : "false");
    StringRef type = buffer->getValueAsString("type");
    bool isFixed = type.empty() || isElementType(type);
    os << ", " << place(descriptor, isFixed ? "" : type, entry) << ", \""
       << (isFixed ? type : "") << "\", "
       << place(descriptor, buffer->getValueAsString("bytes"), entry) << ", ";
    if (buffer->getValueAsListOfStrings("shape").empty())
      os << "{}},\n";
    else
      os << "kShapeOf_" << symbol << "_" << i << "},\n";
  }
  os << "};\n\n";
}

static void emitTable(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("The ABI as data", os, records);
  for (const Record *type : list(records, "Enum"))
    emitTableEnum(type, os);
  std::vector<const Record *> structs = list(records, "Struct");
  for (const Record *type : structs)
    emitTableStruct(type, os);
  os << "inline constexpr const Struct *kStructs[] = {\n";
  for (const Record *type : structs)
    os << "    &kStruct_" << type->getValueAsString("name") << ",\n";
  os << "};\n\n";
  std::vector<const Record *> entries = list(records, "Entry");
  for (const Record *entry : entries)
    emitTableBuffers(entry, os);
  os << "inline constexpr Entry kEntries[] = {\n";
  for (const Record *entry : entries) {
    StringRef symbol = entry->getValueAsString("symbol");
    os << "    {\"" << symbol << "\", \"" << entry->getValueAsString("kind")
       << "\", &kStruct_"
       << entry->getValueAsDef("descriptor")->getValueAsString("name") << ", ";
    if (entry->getValueAsListOfDefs("buffers").empty())
      os << "{}";
    else
      os << "kBuffersOf_" << symbol;
    os << ", " << (entry->getValueAsBit("hasTable") ? "true" : "false")
       << ", Phase::" << entry->getValueAsString("phase")
       << ", Exchange::" << entry->getValueAsString("exchange") << "},\n";
  }
  os << "};\n";
}

static void emitMacros(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("The ABI as macros", os, records);
  for (StringRef macro :
       {"INGOT_ABI_STRUCT(NAME)", "INGOT_ABI_FIELD(STRUCT, NAME, OFFSET)",
        "INGOT_ABI_ENTRY(NAME)"})
    os << "#ifndef " << macro.split('(').first << "\n#define " << macro
       << "\n#endif\n";
  for (const Record *type : list(records, "Struct")) {
    StringRef name = type->getValueAsString("name");
    os << "INGOT_ABI_STRUCT(" << name << ")\n";
    for (const Field &field : getFields(type))
      os << "INGOT_ABI_FIELD(" << name << ", " << field.name << ", "
         << field.offset << ")\n";
  }
  for (StringRef kind : {"Entry", "Function"})
    for (const Record *entry : list(records, kind))
      os << "INGOT_ABI_ENTRY(" << entry->getValueAsString("symbol") << ")\n";
  for (StringRef macro :
       {"INGOT_ABI_STRUCT", "INGOT_ABI_FIELD", "INGOT_ABI_ENTRY"})
    os << "#undef " << macro << "\n";
}

static TableGen::Emitter::Opt tableGenerator("gen-abi-table", emitTable,
                                             "Generate the ABI as data");
static TableGen::Emitter::Opt macroGenerator("gen-abi-macros", emitMacros,
                                             "Generate the ABI as macros");
