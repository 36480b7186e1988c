// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The records of runtime/abi in the form that the generators use: in the order
// of the file, with the layout that C gives the structs of Abi.td.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_TBLGEN_MODEL_H
#define INGOT_TOOLS_INGOT_TBLGEN_MODEL_H

#include "llvm/TableGen/Record.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::tblgen {

/// The layout of a type.
struct Layout {
  uint64_t bytes, alignment;
};
Layout getLayout(const llvm::Record *type);

/// A field of a struct and its offset.
struct Field {
  const llvm::Record *record;
  const llvm::Record *type;
  llvm::StringRef name;
  /// The layout of an element of an array.
  uint64_t bytes;
  uint64_t offset;
  /// The number of elements; 1 if the field is no array.
  uint64_t count;

  bool isArray() const { return !record->isValueUnset("count"); }
  /// Returns the C type in a declaration.
  std::string getCType() const;
};

/// Returns the fields of a struct; ends the program with an error where C would
/// leave gaps between them, or a name occurs twice.
std::vector<Field> getFields(const llvm::Record *type);

/// Refers to a field of a descriptor, or of a struct in it, by its name.
struct FieldPath {
  /// The names from the descriptor on, as C writes them: `matmul.batch`.
  std::string path;
  const llvm::Record *owner;
  Field field;
  /// The offset from the beginning of the descriptor.
  uint64_t offset;
};
/// Finds the field; ends the program with an error, at `where`, if there is
/// none.
FieldPath findField(const llvm::Record *descriptor, llvm::StringRef name,
                    const llvm::Record *where);

/// Returns all records of a class, in the order of the file.
std::vector<const llvm::Record *> list(const llvm::RecordKeeper &records,
                                       llvm::StringRef kind);

/// Returns a declaration of a function, broken into lines: `head` ends with
/// `(`.
std::string joinParameters(llvm::StringRef head,
                           llvm::ArrayRef<std::string> parameters);

/// Returns an entry point or a function of the runtime as C declares it.
std::string getPrototype(const llvm::Record *function);

/// Returns the description of a record in lines of at most `width` characters.
std::vector<std::string> wrap(llvm::StringRef text, size_t width);

/// Prints a comment in lines of at most `width` characters, each of which
/// begins with `start`.
void emitComment(llvm::StringRef text, llvm::StringRef start, size_t indent,
                 size_t width, llvm::raw_ostream &os);

/// Returns a hash of everything except descriptions, in 31 bits.
uint32_t getVersion(const llvm::RecordKeeper &records);

} // namespace ingot::tblgen

#endif // INGOT_TOOLS_INGOT_TBLGEN_MODEL_H
