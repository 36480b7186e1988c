// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random instances of every op: what gradient tests differentiate and random
// graphs are made of.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RANDOM_GRAPHS_CATALOGUE_CATALOGUE_H
#define INGOT_TEST_RANDOM_GRAPHS_CATALOGUE_CATALOGUE_H

#include "dialects/ingot/builders/Builders.h"
#include <random>

namespace ingot::testing {

using Shape = llvm::SmallVector<int64_t>;

/// Where an op is defined and smooth.
enum class Domain { Any, NonZero, Positive };

/// Choices that depend on the seed alone, on every platform.
class Chooser {
public:
  /// Some shapes have one dimension of up to `stretch` elements.
  explicit Chooser(uint64_t seed, int64_t stretch = 1)
      : engine(seed), stretch(stretch) {}

  /// An integer in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % (high - low + 1));
  }
  bool chance(double probability) { return real(0, 1) < probability; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  }
  /// A value of the domain, away from where ops are not smooth.
  double inDomain(Domain domain) {
    double size = real(0.2, 2);
    return domain == Domain::Positive || chance(0.5) ? size : -size;
  }
  /// `rank` sizes from 1 to `largest`.
  Shape shape(int64_t rank, int64_t largest = 4) {
    Shape sizes;
    for (int64_t i = 0; i < rank; ++i)
      sizes.push_back(between(1, largest));
    if (stretch > 1 && rank > 0 && chance(0.3))
      sizes[between(0, rank - 1)] = between(1, stretch);
    return sizes;
  }
  /// Rank 1 to 3, with stretching to 5.
  Shape shape() { return shape(between(1, stretch > 1 ? 5 : 3)); }
  template <typename Range> auto pick(const Range &range) {
    return range[between(0, static_cast<int64_t>(range.size()) - 1)];
  }

private:
  std::mt19937_64 engine;
  int64_t stretch;
};

/// Where instances get their operands from.
class Source {
public:
  Source(mlir::OpBuilder &builder, Chooser &choose, mlir::FloatType element)
      : builder(builder), choose(choose), element(element) {}
  virtual ~Source() = default;

  /// A floating tensor with the graph's element type.
  virtual mlir::Value real(llvm::ArrayRef<int64_t> shape,
                           Domain domain = Domain::Any) = 0;
  /// A floating or, where the graph has any, integer tensor of `type`, which
  /// numberType gave.
  virtual mlir::Value number(mlir::RankedTensorType type,
                             Domain domain = Domain::Any) = 0;
  /// Integers around [0, limit), some outside.
  virtual mlir::Value indices(mlir::RankedTensorType type, int64_t limit) = 0;
  virtual mlir::Value boolean(llvm::ArrayRef<int64_t> shape) = 0;
  /// Integers in [low, high] of the element type of `type`.
  virtual mlir::Value integer(mlir::RankedTensorType type, int64_t low,
                              int64_t high) = 0;

  /// The element type of an op that takes floats and integers.
  virtual mlir::Type numberElement() { return element; }

  /// One of all integer types.
  mlir::Type integerElement() {
    unsigned width = choose.pick(std::vector<unsigned>{8, 16, 32, 64});
    return mlir::IntegerType::get(builder.getContext(), width,
                                  choose.chance(0.5)
                                      ? mlir::IntegerType::Signless
                                      : mlir::IntegerType::Unsigned);
  }

  mlir::RankedTensorType realType(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Location loc() { return builder.getUnknownLoc(); }

  mlir::OpBuilder &builder;
  Chooser &choose;
  mlir::FloatType element;
};

struct Entry {
  /// The names of the op that is built, then of those built along with it.
  llvm::SmallVector<llvm::StringRef> opNames;
  std::function<mlir::Operation *(Source &)> build;
};

/// Entries of all ops, some ops having several.
llvm::ArrayRef<Entry> catalogue();

void addElementwise(std::vector<Entry> &entries);
void addShape(std::vector<Entry> &entries);
void addIndexing(std::vector<Entry> &entries);
void addWindowed(std::vector<Entry> &entries);
void addComposites(std::vector<Entry> &entries);

template <typename OpT, typename... Others>
void addEntry(std::vector<Entry> &entries,
              std::function<mlir::Operation *(Source &)> build) {
  entries.push_back({{OpT::getOperationName(), Others::getOperationName()...},
                     std::move(build)});
}

} // namespace ingot::testing

#endif // INGOT_TEST_RANDOM_GRAPHS_CATALOGUE_CATALOGUE_H
