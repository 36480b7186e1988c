// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-data/Commands.h"

#include "runtime/core/Error.h"
#include "runtime/data/dataset/OpenReader.h"
#include "runtime/data/pictures/Picture.h"
#include "runtime/data/pictures/formats/Decode.h"
#include "runtime/data/readers/ClassNames.h"

using namespace ingot;
using namespace ingot::runtime;

std::unique_ptr<Reader> ingot::openFile(const DataFile &file) {
  ReaderOptions options;
  options.tokens = file.tokens;
  auto reader = openReader(file.path, options);
  // Arrays have samples once they are loaded.
  if (reader->getKind() == "npz" || reader->getKind() == "npy")
    for (size_t f = 0; f < reader->getNames().size(); ++f)
      if (reader->load(f)->shape.empty())
        throw badInput(reader->describeField(f), "the array has no samples",
                       "the first axis of every array counts the samples");
  return reader;
}

static std::string describeBytes(std::string_view bytes,
                                 const std::string &where) {
  if (!isPicture(bytes))
    return std::to_string(bytes.size()) + " bytes";
  PictureSize size = readPictureSize(bytes, where);
  return "picture, " + std::to_string(size.width) + " x " +
         std::to_string(size.height) + " pixels";
}

std::string ingot::inspect(const DataFile &file) {
  auto reader = openFile(file);
  std::string text = file.path + ": " + std::string(reader->getKind()) + ", " +
                     std::to_string(reader->getSamples()) +
                     (reader->getKind() == "tokens" ? " tokens" : " samples") +
                     "\n";
  if (ClassNames classes = reader->getClasses(); !classes.empty())
    text += "  classes: " + describeClasses(classes) + "\n";
  std::string storage;
  for (size_t f = 0; f < reader->getNames().size(); ++f) {
    text += "  " + reader->getNames()[f] + ": ";
    if (reader->getSamples() == 0) {
      text += "nothing\n";
      continue;
    }
    try {
      Value value = reader->read(f, 0, storage);
      text += value.kind == Value::Kind::Bytes
                  ? describeBytes(value.bytes, reader->describe(f, 0))
                  : value.describe();
    } catch (const Error &error) {
      text += error.getWhat();
    }
    text += "\n";
  }
  return text;
}

void ingot::writeIndexOf(const DataFile &file) {
  MappedFile archive(file.path);
  if (!isTar(archive.getBytes()))
    throw badInput(file.path, "not a tar archive",
                   "other files need no index: they are read at once");
  writeIndex(readTar(archive.getBytes(), file.path), file.path);
}

/// Whether a field of this name holds pictures.
static bool isForPictures(const std::string &name) {
  for (const char *known : kPictureFields)
    if (name == known)
      return true;
  return false;
}

std::vector<std::string> ingot::verify(const DataFile &file, size_t most) {
  auto reader = openFile(file);
  std::vector<std::string> problems;
  std::string storage;
  Picture picture;
  auto attempt = [&](size_t field, int64_t sample) {
    try {
      Value value = reader->read(field, sample, storage);
      if (value.kind != Value::Kind::Bytes ||
          !(isPicture(value.bytes) || isForPictures(reader->getNames()[field])))
        return;
      std::string where = reader->describe(field, sample);
      PictureSize size = readPictureSize(value.bytes, where);
      int64_t reduced;
      decodePicture(value.bytes, PixelFormat{}, {0, 0, size.width, size.height},
                    1, picture, reduced, where);
    } catch (const Error &error) {
      problems.push_back(error.getWhere() + ": " + error.getWhat());
    }
  };
  for (int64_t sample = 0; sample < reader->getSamples(); ++sample)
    for (size_t f = 0; f < reader->getNames().size(); ++f) {
      const Array *array = reader->load(f);
      if (array && array->shape.front() <= sample)
        problems.push_back(reader->describeField(f) +
                           ": has fewer samples than other arrays");
      else
        attempt(f, sample);
      if (problems.size() >= most)
        return problems;
    }
  return problems;
}
