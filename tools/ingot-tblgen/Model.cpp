// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-tblgen/Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TableGen/Error.h"

using namespace llvm;
using namespace ingot;
using namespace ingot::tblgen;

Layout tblgen::getLayout(const Record *type) {
  if (type->isSubClassOf("Scalar")) {
    auto bytes = static_cast<uint64_t>(type->getValueAsInt("bytes"));
    return {bytes, bytes};
  }
  if (type->isSubClassOf("Enum"))
    return {sizeof(int32_t), sizeof(int32_t)};
  if (!type->isSubClassOf("Struct"))
    PrintFatalError(type, "a field cannot have this type");
  Layout layout{0, 1};
  for (const Field &field : getFields(type)) {
    layout.bytes = field.offset + field.bytes * field.count;
    layout.alignment =
        std::max(layout.alignment, getLayout(field.type).alignment);
  }
  return layout;
}

std::string Field::getCType() const {
  if (type->isSubClassOf("Enum"))
    return "int32_t";
  return type->getValueAsString("name").str();
}

std::vector<Field> tblgen::getFields(const Record *type) {
  std::vector<Field> fields;
  StringSet<> names;
  uint64_t offset = 0, alignment = 1;
  for (const Record *record : type->getValueAsListOfDefs("fields")) {
    Field field{record,
                record->getValueAsDef("type"),
                record->getValueAsString("name"),
                /*bytes=*/0,
                offset,
                /*count=*/1};
    if (!names.insert(field.name).second)
      PrintFatalError(type, "field '" + field.name + "' occurs twice");
    Layout layout = getLayout(field.type);
    field.bytes = layout.bytes;
    if (field.isArray())
      field.count = static_cast<uint64_t>(
          record->getValueAsDef("count")->getValueAsInt("value"));
    alignment = std::max(alignment, layout.alignment);
    if (offset % layout.alignment != 0)
      PrintFatalError(type, "field '" + field.name +
                                "' leaves a gap: put a ReservedField before");
    offset += field.bytes * field.count;
    fields.push_back(field);
  }
  if (offset % alignment != 0)
    PrintFatalError(type, "ends with a gap: add a ReservedField");
  return fields;
}

/// Fields of the struct itself are matched before those of structs within it.
static std::optional<FieldPath> findIn(const Record *type, StringRef name) {
  std::vector<Field> fields = getFields(type);
  for (const Field &field : fields)
    if (field.name == name)
      return FieldPath{name.str(), type, field, field.offset};
  for (const Field &field : fields)
    if (field.type->isSubClassOf("Struct") && !field.isArray())
      if (std::optional<FieldPath> found = findIn(field.type, name)) {
        found->path = (field.name + "." + found->path).str();
        found->offset += field.offset;
        return found;
      }
  return std::nullopt;
}

FieldPath tblgen::findField(const Record *descriptor, StringRef name,
                            const Record *where) {
  std::optional<FieldPath> found = findIn(descriptor, name);
  if (!found)
    PrintFatalError(where, "its descriptor has no field '" + name + "'");
  return *found;
}

std::vector<const Record *> tblgen::list(const RecordKeeper &records,
                                         StringRef kind) {
  std::vector<const Record *> found =
      records.getAllDerivedDefinitions(kind).vec();
  // Records without a name are parts of others.
  llvm::erase_if(found, [](const Record *r) { return r->isAnonymous(); });
  llvm::sort(found, LessRecordByID());
  return found;
}

std::string tblgen::joinParameters(StringRef head,
                                   ArrayRef<std::string> parameters) {
  constexpr size_t width = 80;
  std::string text = head.str();
  size_t column = head.size();
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    std::string part = parameter + (i + 1 == parameters.size() ? ");" : ",");
    if (i != 0 && column + 1 + part.size() > width) {
      text += "\n" + std::string(head.size(), ' ');
      column = head.size();
    } else if (i != 0) {
      text += " ";
      ++column;
    }
    text += part;
    column += part.size();
  }
  return text;
}

/// Returns the C type of a buffer's elements.
static StringRef getElementCType(const Record *buffer) {
  return llvm::StringSwitch<StringRef>(buffer->getValueAsString("type"))
      .Case("f32", "float")
      .Case("f64", "double")
      .Case("i32", "int32_t")
      .Case("i64", "int64_t")
      .Default("void");
}

std::string tblgen::getPrototype(const Record *function) {
  std::vector<std::string> parameters;
  std::string head = "void ";
  if (function->isSubClassOf("Entry")) {
    const Record *descriptor = function->getValueAsDef("descriptor");
    parameters = {
        "ingot_context *context",
        ("const " + descriptor->getValueAsString("name") + " *desc").str()};
    for (const Record *buffer : function->getValueAsListOfDefs("buffers"))
      parameters.push_back(((buffer->getValueAsBit("isConst") ? "const " : "") +
                            getElementCType(buffer) + " *" +
                            buffer->getValueAsString("name"))
                               .str());
    if (function->getValueAsBit("hasTable"))
      parameters.push_back("void *const *buffers");
  } else {
    head = function->getValueAsString("result").str();
    if (!StringRef(head).ends_with("*"))
      head += ' ';
    for (StringRef parameter : function->getValueAsListOfStrings("parameters"))
      parameters.push_back(parameter.str());
  }
  head += function->getValueAsString("symbol").str() + "(";
  return joinParameters(head, parameters);
}

std::vector<std::string> tblgen::wrap(StringRef text, size_t width) {
  std::vector<std::string> lines;
  SmallVector<StringRef> paragraphs;
  text.trim().split(paragraphs, "\n\n");
  for (StringRef paragraph : paragraphs) {
    if (!lines.empty())
      lines.push_back("");
    lines.push_back("");
    SmallVector<StringRef> words;
    SplitString(paragraph, words);
    for (StringRef word : words) {
      std::string &line = lines.back();
      if (!line.empty() && line.size() + 1 + word.size() > width)
        lines.push_back(word.str());
      else
        line += (line.empty() ? "" : " ") + word.str();
    }
  }
  return lines;
}

void tblgen::emitComment(StringRef text, StringRef start, size_t indent,
                         size_t width, raw_ostream &os) {
  if (text.trim().empty())
    return;
  for (const std::string &line :
       wrap(text, width - indent - start.size() - 1)) {
    os.indent(indent) << start;
    if (!line.empty())
      os << ' ' << line;
    os << '\n';
  }
}

/// Adds everything of a struct except its descriptions.
static void addStruct(const Record *type, raw_ostream &os) {
  for (const Field &field : getFields(type))
    os << field.getCType() << ' ' << field.type->getValueAsString("name") << ' '
       << field.name << ' ' << field.count << ' '
       << field.record->getValueAsString("source") << ';';
}

uint32_t tblgen::getVersion(const RecordKeeper &records) {
  // The records are sorted by name: the order in the file is not a part of the
  // ABI.
  std::vector<std::string> parts;
  for (StringRef kind : {"Constant", "Enum", "Callback", "Struct", "Function",
                         "Definition", "Entry"})
    for (const Record *record : list(records, kind)) {
      std::string part;
      raw_string_ostream os(part);
      bool hasSymbol = kind == "Function" || kind == "Definition";
      os << kind << ' '
         << record->getValueAsString(hasSymbol || kind == "Entry" ? "symbol"
                                                                  : "name")
         << ':';
      if (kind == "Constant")
        os << record->getValueAsInt("value");
      if (kind == "Enum")
        for (const Record *each : record->getValueAsListOfDefs("cases"))
          os << each->getValueAsString("symbol") << '='
             << each->getValueAsInt("value") << ';';
      if (kind == "Struct")
        addStruct(record, os);
      if (kind == "Callback" || kind == "Function")
        for (StringRef each : record->getValueAsListOfStrings("parameters"))
          os << each << ';';
      if (kind == "Function")
        os << record->getValueAsString("result");
      if (kind == "Definition")
        os << record->getValueAsDef("type")->getValueAsString("name");
      if (kind == "Entry") {
        os << record->getValueAsDef("descriptor")->getValueAsString("name");
        for (const Record *buffer : record->getValueAsListOfDefs("buffers")) {
          os << ';' << buffer->getValueAsString("name") << ' '
             << buffer->getValueAsString("type") << ' '
             << buffer->getValueAsString("bytes");
          for (StringRef size : buffer->getValueAsListOfStrings("shape"))
            os << '*' << size;
          for (StringRef flag :
               {"isConst", "isRead", "isWritten", "isScratch", "isOptional"})
            os << ' ' << buffer->getValueAsBit(flag);
        }
        os << record->getValueAsBit("hasTable");
      }
      parts.push_back(part);
    }
  llvm::sort(parts);
  return static_cast<uint32_t>(xxh3_64bits(llvm::join(parts, "\n")) >> 33);
}
