// SPDX-License-Identifier: Apache-2.0

// Einsum as batched matmuls of pairs of operands.

#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>
#include <map>
#include <tuple>

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

/// Takes the diagonal of dimensions that have one letter.
void takeDiagonals(Node &node, Term &term) {
  for (size_t i = 0; i < term.letters.size(); ++i) {
    char letter = term.letters[i];
    size_t j = term.letters.find(letter, i + 1);
    if (j == std::string::npos)
      continue;
    // Both dimensions go to the end, where they are one of which every size + 1
    // elements one is on the diagonal.
    Shape permutation, shape;
    std::string letters;
    for (size_t k = 0; k < term.letters.size(); ++k) {
      if (k == i || k == j)
        continue;
      permutation.push_back(static_cast<int64_t>(k));
      letters += term.letters[k];
    }
    permutation.append({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    Value value = node.transpose(term.value, permutation);
    shape.assign(tensorType(value).getShape().begin(),
                 tensorType(value).getShape().end());
    int64_t size = shape.pop_back_val();
    shape.back() = size * size;
    value = node.reshape(value, shape);
    value = node.sliceDim(value, static_cast<int64_t>(shape.size()) - 1, 0,
                          size * size, size + 1);
    term = {value, letters + letter};
    // Again from the start: the letter may occur a third time.
    i = static_cast<size_t>(-1);
  }
}

/// The letter of the last dimension that an ellipsis stands for. Those before
/// it have the characters before: none is a letter of an equation.
constexpr char kEllipsisEnd = '\x40';

/// Replaces an ellipsis by letters for the dimensions that it stands for. Of
/// the dimensions of several operands, the last ones are the same.
FailureOr<std::string> expandEllipsis(Node &node, StringRef part,
                                      int64_t ellipsis) {
  auto [before, after] = part.split("...");
  bool has = part.contains("...");
  if (!llvm::all_of(before, llvm::isAlpha) ||
      !llvm::all_of(after, llvm::isAlpha) || (has && ellipsis < 0) ||
      ellipsis > 16)
    return node.malformed("equation '" + node.stringAttr("equation", "") + "'");
  std::string letters = before.str();
  for (int64_t i = ellipsis; has && i > 0; --i)
    letters += static_cast<char>(kEllipsisEnd - i + 1);
  return letters + after.str();
}

int64_t ellipsisRank(StringRef part, int64_t rank) {
  return part.contains("...") ? rank - (static_cast<int64_t>(part.size()) - 3)
                              : 0;
}

/// The parsed equation.
struct Equation {
  SmallVector<Term> terms;
  std::string result;
};

FailureOr<Equation> parse(Node &node) {
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
  Equation parsed;
  std::string inOrder;
  int64_t longest = 0;
  for (auto [part, value] : llvm::zip_equal(parts, *values)) {
    int64_t rank = tensorType(value).getRank();
    int64_t ellipsis = ellipsisRank(part, rank);
    longest = std::max(longest, ellipsis);
    FailureOr<std::string> letters = expandEllipsis(node, part, ellipsis);
    if (failed(letters))
      return failure();
    if (static_cast<int64_t>(letters->size()) != rank)
      return node.malformed("equation '" + equation +
                            "' for an operand of shape " +
                            shapeText(tensorType(value).getShape()));
    parsed.terms.push_back({value, *letters});
    inOrder += *letters;
  }
  // Without an output, the dimensions of ellipses, then letters that occur
  // once, in alphabetical order.
  if (StringRef(text).contains("->")) {
    FailureOr<std::string> letters = expandEllipsis(node, output, longest);
    if (failed(letters))
      return failure();
    parsed.result = *letters;
  } else {
    for (int64_t i = longest; i > 0; --i)
      parsed.result += static_cast<char>(kEllipsisEnd - i + 1);
    std::string once = filter(inOrder, [&](char letter) {
      return letter > kEllipsisEnd && StringRef(inOrder).count(letter) == 1;
    });
    llvm::sort(once);
    parsed.result += once;
  }
  for (char letter : parsed.result)
    if (!has(inOrder, letter) || StringRef(parsed.result).count(letter) > 1)
      return node.malformed("the result of equation '" + equation + "'");
  return parsed;
}

/// Checks that letters have one size each. Dimensions of size 1 of an ellipsis
/// are dropped where another operand has more.
LogicalResult unify(Node &node, Equation &equation) {
  std::map<char, int64_t> sizes;
  for (const Term &term : equation.terms)
    for (auto [i, letter] : llvm::enumerate(term.letters)) {
      int64_t size = tensorType(term.value).getDimSize(i);
      auto [known, isNew] = sizes.try_emplace(letter, size);
      if (letter <= kEllipsisEnd && known->second == 1)
        known->second = size;
      if (known->second != size && !(letter <= kEllipsisEnd && size == 1))
        return node.malformed("dimension '" + Twine(letter) + "' has sizes " +
                              Twine(known->second) + " and " + Twine(size));
    }
  for (Term &term : equation.terms) {
    Shape shape;
    std::string letters;
    for (auto [i, letter] : llvm::enumerate(term.letters)) {
      int64_t size = tensorType(term.value).getDimSize(i);
      if (letter <= kEllipsisEnd && size != sizes[letter])
        continue;
      shape.push_back(size);
      letters += letter;
    }
    term = {node.reshape(term.value, shape), letters};
  }
  return success();
}

/// Returns the number of elements of two terms' product, of which letters that
/// nothing else has are summed.
double productSize(const Term &lhs, const Term &rhs,
                   const std::string &needed) {
  double size = 1.0;
  for (char letter : lhs.letters)
    if (has(needed, letter))
      size *= static_cast<double>(lhs.size(letter));
  for (char letter : rhs.letters)
    if (has(needed, letter) && !has(lhs.letters, letter))
      size *= static_cast<double>(rhs.size(letter));
  return size;
}

/// Contracts pairs of terms until one is left, each time the pair whose product
/// is smallest.
LogicalResult importEinsum(Node &node) {
  FailureOr<Equation> equation = parse(node);
  if (failed(equation))
    return failure();
  for (Term &term : equation->terms)
    for (char letter : term.letters)
      for (size_t i = 0; i < term.letters.size(); ++i)
        if (term.letters[i] == letter &&
            tensorType(term.value).getDimSize(i) != term.size(letter))
          return node.malformed("dimension '" + Twine(letter) +
                                "' has two sizes");
  for (Term &term : equation->terms)
    takeDiagonals(node, term);
  if (failed(unify(node, *equation)))
    return failure();
  SmallVector<Term> &terms = equation->terms;
  auto neededBy = [&](size_t a, size_t b) {
    std::string needed = equation->result;
    for (auto [k, term] : llvm::enumerate(terms))
      if (k != a && k != b)
        needed += term.letters;
    return needed;
  };
  while (terms.size() > 1) {
    size_t first = 0, second = 1;
    double least = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < terms.size(); ++a)
      for (size_t b = a + 1; b < terms.size(); ++b) {
        double size = productSize(terms[a], terms[b], neededBy(a, b));
        if (size < least)
          std::tie(first, second, least) = std::tuple(a, b, size);
      }
    std::string needed = neededBy(first, second);
    Term lhs = terms[first], rhs = terms[second];
    sumAlone(node, lhs, needed + rhs.letters);
    sumAlone(node, rhs, needed + lhs.letters);
    FailureOr<Term> product = contract(node, lhs, rhs, needed);
    if (failed(product))
      return failure();
    terms.erase(terms.begin() + static_cast<ptrdiff_t>(second));
    terms[first] = *product;
  }
  Term term = terms.front();
  sumAlone(node, term, equation->result);
  arrange(node, term, equation->result);
  return node.result(term.value);
}

} // namespace

void onnx_import::registerEinsum(Registry &registry) {
  registry.add("Einsum", importEinsum);
}
