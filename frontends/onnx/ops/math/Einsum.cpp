// SPDX-License-Identifier: Apache-2.0

// Einsum of one or two operands as a batched matmul.

#include "frontends/onnx/import/Node.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// An operand and the letters of its dimensions.
struct Term {
  Value value;
  std::string letters;

  int64_t size(char letter) const {
    return tensorType(value).getDimSize(letters.find(letter));
  }
};

bool has(const std::string &letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

/// Returns the letters that `keep` accepts, in order.
template <typename Keep>
std::string filter(const std::string &from, Keep keep) {
  std::string kept;
  for (char letter : from)
    if (keep(letter))
      kept += letter;
  return kept;
}

/// Sums over dimensions that neither the result nor the other operand has.
void sumAlone(Node &node, Term &term, const std::string &needed) {
  Shape dims;
  for (auto [i, letter] : llvm::enumerate(term.letters))
    if (!has(needed, letter))
      dims.push_back(static_cast<int64_t>(i));
  term.value = node.reduce(ReductionKind::Sum, term.value, dims,
                           /*keep=*/false);
  term.letters =
      filter(term.letters, [&](char letter) { return has(needed, letter); });
}

/// Transposes to the order of `letters`.
void arrange(Node &node, Term &term, const std::string &letters) {
  Shape permutation;
  for (char letter : letters)
    permutation.push_back(static_cast<int64_t>(term.letters.find(letter)));
  term.value = node.transpose(term.value, permutation);
  term.letters = letters;
}

/// Returns the sizes of the batch letters, then the products of the sizes of
/// two groups.
Shape matrixShape(const Term &term, const std::string &batch,
                  const std::string &rows, const std::string &columns) {
  Shape shape;
  for (char letter : batch)
    shape.push_back(term.size(letter));
  for (const std::string *group : {&rows, &columns}) {
    int64_t product = 1;
    for (char letter : *group)
      product *= term.size(letter);
    shape.push_back(product);
  }
  return shape;
}

FailureOr<Term> contract(Node &node, Term lhs, Term rhs,
                         const std::string &output) {
  auto sharedAnd = [&](bool kept) {
    return filter(lhs.letters, [&](char letter) {
      return has(rhs.letters, letter) && has(output, letter) == kept;
    });
  };
  std::string batch = sharedAnd(true), summed = sharedAnd(false);
  std::string rows = filter(
      lhs.letters, [&](char letter) { return !has(rhs.letters, letter); });
  std::string columns = filter(
      rhs.letters, [&](char letter) { return !has(lhs.letters, letter); });
  arrange(node, lhs, batch + rows + summed);
  arrange(node, rhs, batch + summed + columns);
  FailureOr<Value> product = node.matmul(
      node.reshape(lhs.value, matrixShape(lhs, batch, rows, summed)),
      node.reshape(rhs.value, matrixShape(rhs, batch, summed, columns)));
  if (failed(product))
    return failure();
  Shape shape;
  for (char letter : batch + rows)
    shape.push_back(lhs.size(letter));
  for (char letter : columns)
    shape.push_back(rhs.size(letter));
  return Term{node.reshape(*product, shape), batch + rows + columns};
}

LogicalResult importEinsum(Node &node) {
  std::string equation = node.stringAttr("equation", "");
  std::string text =
      filter(equation, [](char letter) { return letter != ' '; });
  auto [left, output] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  FailureOr<SmallVector<Value>> values = node.allInputs();
  if (failed(values))
    return failure();
  if (parts.size() != values->size())
    return node.malformed("equation '" + equation + "' for " +
                          Twine(values->size()) + " operands");
  if (values->size() > 2)
    return node.unsupported("a contraction of more than two operands");
  SmallVector<Term> terms;
  llvm::StringMap<int64_t> sizes;
  std::string inOrder;
  for (auto [part, value] : llvm::zip_equal(parts, *values)) {
    if (!llvm::all_of(part, llvm::isAlpha))
      return node.unsupported("equation '" + equation + "'");
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    if (part.size() != shape.size())
      return node.malformed("equation '" + equation +
                            "' for an operand of shape " + shapeText(shape));
    for (auto [i, letter] : llvm::enumerate(part)) {
      if (part.count(letter) > 1)
        return node.unsupported("a diagonal in equation '" + equation + "'");
      auto [known, isNew] = sizes.try_emplace(part.substr(i, 1), shape[i]);
      if (known->second != shape[i])
        return node.malformed("dimension '" + Twine(letter) + "' has sizes " +
                              Twine(known->second) + " and " + Twine(shape[i]));
      inOrder += letter;
    }
    terms.push_back({value, part.str()});
  }
  // Without an output, letters that occur once, in alphabetical order.
  std::string result = output.str();
  if (!StringRef(text).contains("->")) {
    result = filter(inOrder, [&](char letter) {
      return StringRef(inOrder).count(letter) == 1;
    });
    llvm::sort(result);
  }
  for (char letter : result)
    if (!has(inOrder, letter) || StringRef(result).count(letter) > 1)
      return node.malformed("the result of equation '" + equation + "'");

  for (auto [i, term] : llvm::enumerate(terms))
    sumAlone(node, term,
             terms.size() == 2 ? result + terms[1 - i].letters : result);
  Term term = terms[0];
  if (terms.size() == 2) {
    FailureOr<Term> product = contract(node, terms[0], terms[1], result);
    if (failed(product))
      return failure();
    term = *product;
  }
  arrange(node, term, result);
  return node.result(term.value);
}

} // namespace

void onnx_import::registerEinsum(Registry &registry) {
  registry.add("Einsum", importEinsum);
}
