// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How an input is made of a field: decode, resize, crop, flip, normalize.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_RECIPE_H
#define INGOT_RUNTIME_DATA_PICTURES_RECIPE_H

#include "runtime/core/Manifest.h"
#include "runtime/data/pictures/Resample.h"
#include "runtime/data/readers/Reader.h"

#include <map>
#include <string>
#include <vector>

namespace ingot::runtime {

/// What the random parts of a recipe depend on, and nothing else: neither the
/// worker nor the batch nor the rank.
struct SampleContext {
  uint64_t seed = 0;
  int64_t epoch = 0, sample = 0;
  /// Whether there are random parts: crops are centered otherwise, and nothing
  /// is flipped.
  bool isTraining = false;
};

/// Memory that a thread uses again for the next sample.
struct Workspace {
  std::string storage;
  Picture decoded, made;
  ResampleScratch resample;
  std::vector<float> row;
};

class Recipe {
public:
  /// Parses the steps of `NAME=STEP,STEP...` after the equals sign. Throws
  /// usageError naming the option.
  static Recipe parse(const std::string &name, const std::string &steps);

  /// The field that the recipe asks for with `from`, or empty.
  const std::string &getField() const { return field; }
  /// The recipe as it was given.
  const std::string &getText() const { return text; }
  /// Whether the recipe only names a field, whose elements are taken as they
  /// are.
  bool isEmpty() const { return !hasSteps; }
  /// Whether the recipe takes pictures; else it takes text, or elements.
  bool takesPictures() const { return hasSteps && !takesText; }

  /// Checks that the result has the shape of the input. Throws usageError.
  void check(const InputSpec &input) const;

  /// Makes one sample of an input. Throws badInput naming `where`.
  void apply(const Value &value, const InputSpec &input, char *place,
             const SampleContext &context, Workspace &workspace,
             const std::string &where) const;

private:
  enum class Kind { Resize, Crop, CenterCrop, ResizedCrop, Pad, Flip };
  struct Step {
    Kind kind;
    /// A size, or the size of the shorter side if the width is 0.
    int64_t height = 0, width = 0;
  };
  /// How the result lies on the picture.
  struct Geometry {
    AxisMap x, y;
    bool isFlipped = false;
  };
  /// The result's place in the input, and the elements between colors, rows and
  /// columns.
  struct Layout {
    int64_t channels, height, width;
    bool isPlanar;
  };

  void addStep(const std::string &step);
  void addNormalization(const std::string &values);
  Geometry plan(const PictureSize &size, const SampleContext &context,
                const std::string &where) const;
  static Layout getLayout(const InputSpec &input);
  void writePicture(const Picture &picture, bool isFlipped,
                    const InputSpec &input, char *place,
                    Workspace &workspace) const;
  void writeText(const Value &value, const InputSpec &input, char *place) const;

  std::string name, text, field;
  std::vector<Step> steps;
  std::vector<double> means, deviations;
  bool hasSteps = false, takesText = false, isNext = false;
};

using Recipes = std::map<std::string, Recipe>;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_RECIPE_H
