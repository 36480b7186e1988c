// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The classes of the records in Manifest.td, and what tools/ingot-tblgen makes
// of them: the C++ types of what a manifest says, with the keys by which the
// compiler writes them and the runtime reads them, and the page
// docs/manifest.md.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_MANIFESTRECORDS_TD
#define INGOT_RUNTIME_ABI_MANIFESTRECORDS_TD

/// A heading of the page, with text below it.
class Section<string sectionTitle> {
  string title = sectionTitle;
  string description = "";
}

/// `name` is what the page calls the type, `initial` the value of a member that
/// nothing has set, as C++ writes it; empty for types that have one themselves.
class Type<string typeName, string cppName, string initialValue = ""> {
  string name = typeName;
  string cppType = cppName;
  string initial = initialValue;
  string description = "";
}

def Text : Type<"string", "std::string">;
def Bool : Type<"boolean", "bool", "false">;
def Number : Type<"number", "double", "0">;
/// An integer that is not negative, as sizes and counts are.
def Count : Type<"count", "int64_t", "0">;
def Integer : Type<"integer", "int64_t", "0">;

class ListOf<Type itemType>
    : Type<"list of " # itemType.name, "std::vector<" # itemType.cppType # ">">;
/// An object whose keys are names.
class MapOf<Type itemType>
    : Type<"object with " # itemType.name # " by name", "std::map<std::string, " # itemType.cppType # ">">;

/// A case of an enum, which a manifest names by `name`.
class Value<string valueSymbol, string valueName, string valueDescription = ""> {
  string symbol = valueSymbol;
  string name = valueName;
  string description = valueDescription;
}
class Choice<string cppName, list<Value> choiceValues>
    : Type<cppName, cppName, cppName # "::" # !head(choiceValues).symbol> {
  list<Value> values = choiceValues;
}

/// A member of a record, and its key in the manifest. Members are called as
/// keys are, unless `member` says otherwise.
class Key<Type keyType, string keyName, string keyDescription, string keyMember = ""> {
  Type type = keyType;
  string name = keyName;
  string member = keyMember;
  string description = keyDescription;
  /// `Required`, `Optional` or `Default`.
  string presence = "Required";
  /// With `Default`: the value, as C++ writes it; empty for the initial one of
  /// the type.
  string value = "";
}
/// A key that may be absent; its member is a std::optional.
class OptionalKey<Type type, string name, string description, string keyMember = "">
    : Key<type, name, description, keyMember> {
  let presence = "Optional";
}
/// A key that is absent where the member has its default.
class DefaultKey<Type type, string name, string description, string default = "", string keyMember = "">
    : Key<type, name, description, keyMember> {
  let presence = "Default";
  let value = default;
}
/// A member that the runtime computes from others: in no manifest.
class Derived<string memberType, string memberName, string memberDescription> {
  string cppType = memberType;
  string name = memberName;
  string description = memberDescription;
}

/// An object of the manifest. `base` is a record whose keys it has as well.
class Object<string cppName, list<Key> objectKeys> : Type<cppName, cppName> {
  list<Key> keys = objectKeys;
  list<Derived> derived = [];
  Type base = ?;
  /// Member functions, as C++ declares them; the runtime defines them.
  code methods = "";
  /// Whether the manifest has a list of the values rather than an object.
  bit isRow = 0;
}
class Row<string cppName, list<Key> rowKeys> : Object<cppName, rowKeys> {
  let isRow = 1;
}

#endif // INGOT_RUNTIME_ABI_MANIFESTRECORDS_TD
