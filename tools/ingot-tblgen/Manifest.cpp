// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Generates the C++ types of runtime/abi/Manifest.td, and the page
// docs/manifest.md.
//===----------------------------------------------------------------------===//

#include "tools/ingot-tblgen/Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;
using namespace ingot::tblgen;

static constexpr size_t kCodeWidth = 80, kPageWidth = 118;

/// Returns the records of the classes, in the order of the file.
static std::vector<const Record *> listAll(const RecordKeeper &records,
                                           ArrayRef<StringRef> classes) {
  std::vector<const Record *> all;
  for (StringRef each : classes)
    append_range(all, list(records, each));
  sort(all, LessRecordByID());
  return all;
}

static const Record *getBase(const Record *object) {
  return object->isValueUnset("base") ? nullptr : object->getValueAsDef("base");
}

/// Returns the name of a member: the key as C++ spells names, unless the record
/// has another one.
static std::string getMember(const Record *key) {
  StringRef member = key->getValueAsString("member");
  return member.empty()
             ? convertToCamelFromSnakeCase(key->getValueAsString("name"))
             : member.str();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void emitDescription(const Record *record, size_t indent,
                            raw_ostream &os) {
  emitComment(record->getValueAsString("description"), "///", indent,
              kCodeWidth, os);
}

static void emitChoice(const Record *type, raw_ostream &os) {
  StringRef name = type->getValueAsString("cppType");
  std::vector<const Record *> values = type->getValueAsListOfDefs("values");
  os << '\n';
  emitDescription(type, 0, os);
  os << "enum class " << name << " {\n";
  for (const Record *value : values) {
    emitDescription(value, 2, os);
    os << "  " << value->getValueAsString("symbol") << ",\n";
  }
  os << "};\n"
     << "/// The names of the cases, in order.\n"
     << "template <>\ninline constexpr std::array<std::string_view, "
     << values.size() << "> kNames<" << name << "> = {\n";
  for (const Record *value : values)
    os << "    \"" << value->getValueAsString("name") << "\",\n";
  os << "};\n";
}

/// Returns the initial value of a member; empty for members that have one
/// themselves.
static std::string getInitial(const Record *key) {
  if (key->getValueAsString("presence") == "Optional")
    return "";
  StringRef value = key->getValueAsString("value");
  return value.empty()
             ? key->getValueAsDef("type")->getValueAsString("initial").str()
             : value.str();
}

static void emitMembers(const Record *object, raw_ostream &os) {
  for (const Record *key : object->getValueAsListOfDefs("keys")) {
    StringRef type = key->getValueAsDef("type")->getValueAsString("cppType");
    emitDescription(key, 2, os);
    bool isOptional = key->getValueAsString("presence") == "Optional";
    os << "  "
       << (isOptional ? ("std::optional<" + type + ">").str() : type.str())
       << ' ' << getMember(key);
    if (std::string value = getInitial(key); !value.empty())
      os << " = " << value;
    os << ";\n";
  }
  for (const Record *member : object->getValueAsListOfDefs("derived")) {
    emitDescription(member, 2, os);
    os << "  " << member->getValueAsString("cppType") << ' '
       << member->getValueAsString("name") << "{};\n";
  }
}

/// Emits the function that takes an archive, which reads or writes, through the
/// members and their keys.
static void emitVisit(const Record *object, raw_ostream &os) {
  StringRef name = object->getValueAsString("cppType");
  os << "template <typename Archive, IsConstOrNot<" << name << "> Object>\n"
     << "void visit(Archive &archive, Object &object) {\n";
  if (const Record *base = getBase(object)) {
    StringRef type = base->getValueAsString("cppType");
    os << "  visit(archive, static_cast<LikeConst<Object, " << type
       << "> &>(object));\n";
  }
  for (const Record *key : object->getValueAsListOfDefs("keys")) {
    StringRef presence = key->getValueAsString("presence");
    const Record *type = key->getValueAsDef("type");
    os << "  archive.visit" << presence << "(\""
       << key->getValueAsString("name") << "\", object." << getMember(key);
    if (presence == "Default")
      os << ", decltype(object." << getMember(key) << "){" << getInitial(key)
         << "}";
    if (type->getName() == "Integer")
      os << ", Sign::Any";
    os << ");\n";
  }
  os << "}\n";
}

static void emitObject(const Record *object, raw_ostream &os) {
  StringRef name = object->getValueAsString("cppType");
  os << '\n';
  emitDescription(object, 0, os);
  os << "struct " << name;
  if (const Record *base = getBase(object))
    os << " : " << base->getValueAsString("cppType");
  os << " {\n";
  emitMembers(object, os);
  StringRef methods = object->getValueAsString("methods");
  if (!methods.trim().empty()) {
    os << '\n';
    SmallVector<StringRef> lines;
    methods.trim('\n').split(lines, '\n');
    for (StringRef line : lines)
      if (!line.trim().empty())
        os << "  "
           << line.drop_front(std::min(line.find_first_not_of(' '), size_t(4)))
           << '\n';
  }
  os << "};\n";
  if (object->getValueAsBit("isRow"))
    os << "template <> inline constexpr bool kIsRow<" << name << "> = true;\n";
  emitVisit(object, os);
}

static void emitTypes(const RecordKeeper &records, raw_ostream &os) {
  os << R"(//===----------------------------------------------------------------------===//
//
// What a manifest says, in C++. Generated from runtime/abi/Manifest.td: edit
// that.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_MANIFESTTYPES_H
#define INGOT_RUNTIME_ABI_MANIFESTTYPES_H

#include "runtime/abi/ManifestSupport.h"
#include "runtime/abi/Shard.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {
)";
  for (const Record *record : listAll(records, {"Choice", "Object"}))
    if (record->isSubClassOf("Choice"))
      emitChoice(record, os);
    else
      emitObject(record, os);
  os << "\n} // namespace ingot::runtime\n\n"
     << "#endif // INGOT_RUNTIME_ABI_MANIFESTTYPES_H\n";
}

static TableGen::Emitter::Opt types("gen-manifest-types", emitTypes,
                                    "Generate the C++ types of the manifest");

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static void emitText(StringRef text, raw_ostream &os) {
  if (text.trim().empty())
    return;
  for (const std::string &line : wrap(text, kPageWidth))
    os << line << '\n';
  os << '\n';
}

/// Returns the description in one line, for a cell of a table.
static std::string cell(const Record *record) {
  return join(wrap(record->getValueAsString("description"), std::string::npos),
              " ");
}

/// Returns the type of a key as the page writes it.
static std::string describeType(const Record *key) {
  return ("`" + key->getValueAsDef("type")->getValueAsString("name") + "`")
      .str();
}

/// Returns what an absent key means.
static std::string describeAbsence(const Record *key) {
  StringRef presence = key->getValueAsString("presence");
  if (presence == "Required")
    return "";
  std::string initial = getInitial(key);
  if (presence == "Optional" || initial.empty())
    return "yes";
  const Record *type = key->getValueAsDef("type");
  StringRef value = initial;
  if (!type->isSubClassOf("Choice"))
    return ("yes, " + value).str();
  for (const Record *each : type->getValueAsListOfDefs("values"))
    if (value.ends_with(("::" + each->getValueAsString("symbol")).str()))
      return ("yes, `" + each->getValueAsString("name") + "`").str();
  PrintFatalError(key, "the default is no value of the type");
}

static void emitPage(const RecordKeeper &records, raw_ostream &os) {
  os << "# The manifest\n\n"
     << "Generated from `runtime/abi/Manifest.td`; edit that, then build the "
        "target `ingot-docs`.\n\n";
  emitText("The manifest is the compiler's description of a compiled module "
           "for the runtime. `ingot_module.manifest` (see "
           "[`ingot_module_t`](abi.md#module)) is one JSON object, a "
           "`ModuleSpec`: the compiler writes it, the runtime reads it, and "
           "`TRAINER --inspect=json` prints the parts that users need. A key "
           "that may be absent is so where it has its default.",
           os);
  for (const Record *record :
       listAll(records, {"Section", "Choice", "Object"})) {
    if (record->isSubClassOf("Section")) {
      os << "## " << record->getValueAsString("title") << "\n\n";
      emitText(record->getValueAsString("description"), os);
      continue;
    }
    os << "### `" << record->getValueAsString("cppType") << "`\n\n";
    emitText(record->getValueAsString("description"), os);
    if (record->isSubClassOf("Choice")) {
      os << "| value | meaning |\n|---|---|\n";
      for (const Record *value : record->getValueAsListOfDefs("values"))
        os << "| `" << value->getValueAsString("name") << "` | " << cell(value)
           << " |\n";
      os << '\n';
      continue;
    }
    if (record->getValueAsBit("isRow"))
      os << "A list of these numbers, in order.\n\n";
    if (const Record *base = getBase(record))
      os << "It has the keys of `" << base->getValueAsString("cppType")
         << "`, and:\n\n";
    os << "| key | type | may be absent | meaning |\n|---|---|---|---|\n";
    for (const Record *key : record->getValueAsListOfDefs("keys"))
      os << "| `" << key->getValueAsString("name") << "` | "
         << describeType(key) << " | " << describeAbsence(key) << " | "
         << cell(key) << " |\n";
    os << '\n';
  }
}

static TableGen::Emitter::Opt page("gen-manifest-docs", emitPage,
                                   "Generate the page about the manifest");
