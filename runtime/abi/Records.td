// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The classes of the records in Abi.td, and what tools/ingot-tblgen makes of
// them. Everything that couples compiled code and the runtime is stated once:
// the C header, the compiler's table, the tests of both, the page docs/abi.md
// and the ABI's version follow from the records.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_RECORDS_TD
#define INGOT_RUNTIME_ABI_RECORDS_TD

/// A heading of the header and of the page, with text below it. What follows
/// in the file, up to the next one, stands in this section.
class Section<string sectionTitle> {
  string title = sectionTitle;
  string description = "";
}

class Constant<string constantName, int constantValue> {
  string name = constantName;
  int value = constantValue;
  string description = "";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// A C type.
class Type<string typeName> {
  string name = typeName;
  string description = "";
}

/// A scalar type, whose bytes are an `Integer`, a `Float` or an `Address`.
class Scalar<string typeName, int typeBytes, string typeEncoding>
    : Type<typeName> {
  int bytes = typeBytes;
  string encoding = typeEncoding;
}

def I32 : Scalar<"int32_t", 4, "Integer">;
def U32 : Scalar<"uint32_t", 4, "Integer">;
def I64 : Scalar<"int64_t", 8, "Integer">;
def U64 : Scalar<"uint64_t", 8, "Integer">;
def F64 : Scalar<"double", 8, "Float">;
def Text : Scalar<"const char *", 8, "Address">;

/// A type that only the runtime knows.
class Opaque<string typeName> : Type<typeName>;

/// A pointer to a function that compiled code defines. After the table of
/// buffers a kernel takes `indices` indices.
class Callback<string typeName, list<string> callbackParameters>
    : Scalar<typeName, 8, "Address"> {
  list<string> parameters = callbackParameters;
}

/// `name` is how the compiler's IR spells the case.
class Case<string caseSymbol, string caseName, int caseValue,
           string caseDescription = ""> {
  string symbol = caseSymbol;
  string name = caseName;
  int value = caseValue;
  string description = caseDescription;
}

/// Fields and arguments of an enum have the type int32_t.
class Enum<string typeName, list<Case> enumCases> : Type<typeName> {
  list<Case> cases = enumCases;
}

/// Who sets a field: `Given` fields are what the compiler's IR says of a call,
/// `Index` is its number in the function, `Scratch` the size of its scratch
/// buffer in bytes, and `Reserved` fields are 0.
class Field<Type fieldType, string fieldName, string fieldDescription = "",
            string fieldSource = "Given"> {
  Type type = fieldType;
  string name = fieldName;
  string description = fieldDescription;
  string source = fieldSource;
  /// The number of elements of an array.
  Constant count = ?;
}
class Array<Type fieldType, string fieldName, Constant fieldCount,
            string fieldDescription = "">
    : Field<fieldType, fieldName, fieldDescription> {
  let count = fieldCount;
}
class PointerTo<Type pointee> : Scalar<"const " # pointee.name # " *", 8, "Address">;

class Struct<string typeName, list<Field> structFields> : Type<typeName> {
  list<Field> fields = structFields;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// A tensor that an entry takes. `shape` lists fields of the descriptor whose
/// product is the number of elements; `a/b` divides. `type` is a field with an
/// element type, or an element type.
class Buffer<string bufferName, string bufferType, list<string> bufferShape> {
  string name = bufferName;
  string type = bufferType;
  list<string> shape = bufferShape;
  /// The field that holds the size in bytes, where the elements have no
  /// meaning for the entry.
  string bytes = "";
  bit isConst = 0;
  bit isRead = 0;
  bit isWritten = 0;
  bit isScratch = 0;
  /// May be a null pointer.
  bit isOptional = 0;
  /// Only the rank's shard has a meaning after the call.
  bit isShard = 0;
}
class In<string name, string type, list<string> shape = []>
    : Buffer<name, type, shape> {
  let isConst = 1;
  let isRead = 1;
}
class OptionalIn<string name, string type, list<string> shape = []>
    : In<name, type, shape> {
  let isOptional = 1;
}
class Out<string name, string type, list<string> shape = []>
    : Buffer<name, type, shape> {
  let isWritten = 1;
}
class InOut<string name, string type, list<string> shape = []>
    : Buffer<name, type, shape> {
  let isRead = 1;
  let isWritten = 1;
}
class ShardInOut<string name, string type, list<string> shape = []>
    : InOut<name, type, shape> {
  let isShard = 1;
}
/// Nothing else may touch the buffer while the runtime reads it behind the
/// calls that follow.
class InFlight<string name, string type, list<string> shape = []>
    : In<name, type, shape> {
  let isWritten = 1;
}
def Scratch : Buffer<"scratch", "", []> {
  let isWritten = 1;
  let isScratch = 1;
  let isOptional = 1;
}

/// An entry point: it takes the context, the descriptor, a pointer for each
/// buffer, and a table of more buffers where it has one. `kind` is the kind of
/// work as the manifest and profiles name it.
class Entry<string entrySymbol, Struct entryDescriptor, string entryKind,
            list<Buffer> entryBuffers = []> {
  string symbol = entrySymbol;
  Struct descriptor = entryDescriptor;
  string kind = entryKind;
  list<Buffer> buffers = entryBuffers;
  bit hasTable = 0;
  string description = "";
  /// Targets whose runtime defines the entry.
  list<string> targets = ["cpu", "cuda"];
  /// The exchange between ranks that the entry starts or waits for, by the
  /// field `number` of the descriptor: `Start` or `Wait`; `Exchange` where it
  /// does both; or the part of a region concurrent with others: `SideStart`,
  /// `SideEnd` or `SideWait`.
  string phase = "None";
  string exchange = "None";
}

/// A function of the runtime that no operation of a step is a call of.
class Function<string functionResult, string functionSymbol,
               list<string> functionParameters> {
  string result = functionResult;
  string symbol = functionSymbol;
  list<string> parameters = functionParameters;
  string description = "";
}

/// A constant that compiled code defines.
class Definition<Struct definitionType, string definitionSymbol> {
  Struct type = definitionType;
  string symbol = definitionSymbol;
}

#endif // INGOT_RUNTIME_ABI_RECORDS_TD
