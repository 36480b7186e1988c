// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How an input is made of a field: decode, resize, crop, flip, normalize,
// random changes of colors (augment/Augment.h); or of sequences
// (SequenceRecipe.h).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_RECIPES_RECIPE_H
#define INGOT_RUNTIME_DATA_RECIPES_RECIPE_H

#include "runtime/core/Manifest.h"
#include "runtime/data/pictures/PictureCache.h"
#include "runtime/data/pictures/Resample.h"
#include "runtime/data/pictures/augment/Augment.h"
#include "runtime/data/pictures/formats/Orientation.h"
#include "runtime/data/readers/Reader.h"
#include "runtime/data/recipes/SequenceRecipe.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Memory that a thread uses again for the next sample.
struct Workspace {
  std::string storage;
  Picture decoded, made, kept, previous, scratch;
  /// Whether there was a picture whose orientation was not applied.
  bool hasTurned = false;
  /// Where decoded pictures are kept; null if they are not.
  PictureCache *cache = nullptr;
  ResampleScratch resample;
  std::vector<float> row;
  /// Two rows that are mixed.
  std::vector<float> rows[2];
  /// The fields of a sequence by input, and where they may lie.
  std::vector<Value> values;
  std::vector<std::string> storages;
};

/// How samples of a batch are mixed with others: the shapes of the beta
/// distributions that the weights are drawn from, 0 for not at all. With both,
/// each pair of samples gets the one or the other.
struct Mixing {
  double mixup = 0, cutmix = 0;
};

/// A picture's place in an input, and the order of its elements. There are no
/// channels if the input is no picture.
struct PictureLayout {
  int64_t channels, height, width;
  bool isPlanar;
};
PictureLayout getPictureLayout(const InputSpec &input);

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
  bool takesPictures() const {
    return hasSteps && !takesText && !sequence && classes < 0;
  }
  /// How samples are mixed; null if they are not.
  const Mixing *getMixing() const { return mixing ? &*mixing : nullptr; }
  /// Whether bytes of text are taken.
  bool readsText() const { return takesText; }
  /// Whether --cache has a use for pictures of this recipe.
  bool canKeep(bool isTraining) const {
    return takesPictures() && countFixed(isTraining);
  }
  /// Returns the part of the recipe about sequences; null if it has none.
  const SequenceRecipe *getSequence() const {
    return sequence ? &*sequence : nullptr;
  }
  /// Lets a field of the input's name come before the recipe.
  void setGuessed() { sequence->isGuessed = true; }

  /// Checks that the result has the shape of the input. Throws usageError.
  void check(const InputSpec &input) const;

  /// Makes one sample of an input. Throws badInput naming `where`.
  void apply(const Value &value, const InputSpec &input, char *place,
             const SampleContext &context, Workspace &workspace,
             const std::string &where) const;

private:
  /// The kind of a step. Files of --cache refer to kinds by number.
  enum class Kind {
    Resize,
    Crop,
    CenterCrop,
    ResizedCrop,
    Pad,
    Flip,
    FlipRows,
    Rotation,
    Trivial,
    Jitter,
    Grayscale,
    Blur,
    Erasing
  };
  struct Step {
    Kind kind;
    /// A size, or the size of the shorter side if the width is 0.
    int64_t height = 0, width = 0;
    AugmentSettings settings = {};
    /// Whether the step comes after `normalize`.
    bool isNormalized = false;
  };
  /// How a result lies on the picture.
  struct Geometry {
    AxisMap x, y;
    /// Whether columns, and rows, are in reverse order in the end.
    bool isFlipped = false, hasFlippedRows = false;
  };
  /// Steps that are one cut and change of size, and what is done to its pixels.
  struct Stage {
    Geometry geometry;
    std::vector<Operation> operations;
  };
  struct Plan {
    std::vector<Stage> stages;
    std::vector<ErasedPart> erased;
  };
  /// Which order the rows and columns of a picture have to be brought to.
  struct Flips {
    bool columns = false, rows = false;
  };

  /// Whether a step works on pixels and begins another stage.
  static bool isOfPixels(Kind kind) {
    return kind >= Kind::Rotation && kind != Kind::Erasing;
  }
  /// Whether a step is there in training only, or differs there.
  static bool isRandom(Kind kind) {
    return kind != Kind::Resize && kind != Kind::CenterCrop &&
           kind != Kind::Pad;
  }

  void addStep(const std::string &step);
  /// Adds a step about sequences. Returns whether it is one.
  bool addSequenceStep(const std::string &step, const std::string &word,
                       const std::string &rest);
  /// Adds a step about labels or whole batches. Returns whether it is one.
  bool addLabelStep(const std::string &step, const std::string &word,
                    const std::string &rest);
  /// Adds a step with settings. Returns whether it is one.
  bool addRandomStep(const std::string &step, const std::string &word,
                     const std::string &rest);
  /// Adds a step that says how a picture is read.
  void addSource(const std::string &step);
  void checkSteps() const;
  void addNormalization(const std::string &values);
  /// Plans the steps from `first` to `end`.
  Plan plan(const PictureSize &size, size_t first, size_t end,
            const SampleContext &context, const std::string &where) const;
  /// Draws what a step does to the pixels.
  static void addOperations(const Step &step, int64_t width, int64_t height,
                            Draws &geometry, Draws &pixels,
                            std::vector<Operation> &operations);
  /// Returns how many steps come before the first random one, if what follows
  /// takes pixels as they are, so that the result can be kept; else nothing.
  std::optional<size_t> countFixed(bool isTraining) const;
  /// Whether the input is a mask: its pixels are not mixed with each other, and
  /// have no colors.
  bool isMask(const InputSpec &input) const;
  /// Reads the size of a picture, upright if the recipe has `orient`, and how
  /// it is stored.
  PictureSize readSize(const Value &value, Orientation &orientation,
                       Workspace &workspace, const std::string &where) const;
  /// Decodes what the geometry needs of a picture, and moves the geometry to
  /// that.
  static void decode(const Value &value, const PixelFormat &format,
                     const PictureSize &size, const Orientation &orientation,
                     bool isMask, Geometry &geometry, Workspace &workspace,
                     const std::string &where);
  /// Makes the picture of all stages, in `workspace.made`. Returns what is left
  /// to do.
  static Flips makePicture(const Plan &plan, const Picture &from, bool isMask,
                           Workspace &workspace);
  /// Makes the picture after the fixed steps, or takes it from the cache.
  void makeKept(const Value &value, const PixelFormat &format, bool isMask,
                size_t fixed, const SampleContext &context,
                Workspace &workspace, const std::string &where) const;
  void writePicture(const Picture &picture, const Flips &flips,
                    const InputSpec &input, char *place,
                    Workspace &workspace) const;
  void erase(const ErasedPart &part, const InputSpec &input, char *place,
             Draws &draws) const;
  void writeOneHot(const Value &value, const InputSpec &input, char *place,
                   Workspace &workspace, const std::string &where) const;
  void writeText(const Value &value, const InputSpec &input, char *place) const;

  std::string name, text, field;
  std::vector<Step> steps;
  std::vector<double> means, deviations;
  bool hasSteps = false, takesText = false, isNext = false;
  /// Whether the steps `decode`, `orient` and `mask` are there.
  bool hasDecode = false, isOriented = false, hasMask = false;
  /// The classes of labels that are made probabilities: 0 for those of the
  /// input, and below if they are not.
  int64_t classes = -1;
  double smoothing = 0;
  std::optional<Mixing> mixing;
  std::optional<SequenceRecipe> sequence;
  /// Whether a step says what the input has of sequences.
  bool hasRole = false;
};

/// The recipes of inputs, by name.
using Recipes = std::map<std::string, Recipe>;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_RECIPES_RECIPE_H
