// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JSON that others wrote. All of it is parsed here: with a bound on how deep it
// nests, and without a tree of what may be large.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_BOUNDEDJSON_H
#define INGOT_RUNTIME_CORE_TEXT_BOUNDEDJSON_H

#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/JsonDepth.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Returns the tree of a small document, or a discarded value if it is no JSON
/// or nests too deeply.
template <typename Json = nlohmann::json>
Json parseJson(std::string_view text) {
  if (isTooDeep(text))
    return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// Receives what is in a document, piece by piece. Objects with a key twice are
/// an error, as readers do not agree on which value counts.
class JsonReader : private nlohmann::json_sax<nlohmann::json> {
public:
  /// `where` names the document in errors; `problem` says that it is no JSON,
  /// and `hint` how it should look.
  JsonReader(std::string where, std::string problem, std::string hint)
      : where(std::move(where)), problem(std::move(problem)),
        hint(std::move(hint)) {}
  ~JsonReader() override = default;

  /// Throws badInput, also what the functions below throw.
  void read(std::string_view text);

protected:
  /// An array or object begins or ends; `getDepth` counts it in both.
  virtual void begin(bool isObject) {}
  virtual void end(bool isObject) {}
  virtual void addKey(const std::string &key) {}
  /// A number, string, boolean or null.
  virtual void addScalar(nlohmann::json value) {}

  /// The arrays and objects that are open.
  size_t getDepth() const { return depth; }
  [[noreturn]] void fail(const std::string &what) const;

  std::string where, problem, hint;

private:
  bool start_object(size_t) override { return open(true); }
  bool end_object() override;
  bool start_array(size_t) override { return open(false); }
  bool end_array() override;
  bool key(std::string &name) override;
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string &) override {
    return add(value);
  }
  bool string(std::string &value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t &) override { return false; }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::json::exception &) override {
    return false;
  }
  bool open(bool isObject);
  bool add(nlohmann::json value) {
    addScalar(std::move(value));
    return true;
  }

  size_t depth = 0;
  /// The hashes of the keys of the objects that are open, one object after the
  /// other, and where the keys of each begin.
  std::vector<size_t> keys, starts;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_BOUNDEDJSON_H
