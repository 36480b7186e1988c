// SPDX-License-Identifier: Apache-2.0
/*
 * A training step as a library, for C++. It is ingot.h with owners of what has
 * to be freed, and exceptions instead of statuses. C++17.
 */

#ifndef INGOT_HPP
#define INGOT_HPP

#include "ingot.h"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ingot {

/// A call that failed, with the text of ingot_last_error.
class Error : public std::runtime_error {
public:
  Error(ingot_status status, const char *text)
      : std::runtime_error(text), status(status) {}

  /// INGOT_FAILED, INGOT_USAGE or INGOT_BAD_INPUT.
  ingot_status getStatus() const noexcept { return status; }

private:
  ingot_status status;
};

/// Throws Error unless a call was successful.
inline void check(ingot_status status) {
  if (status != INGOT_OK)
    throw Error(status, ingot_last_error());
}

namespace detail {
/// The type of ingot.h for a type of C++.
template <typename T> constexpr ingot_type getType() {
  using Element = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Element, double>)
    return INGOT_TYPE_F64;
  else if constexpr (std::is_same_v<Element, float>)
    return INGOT_TYPE_F32;
  else if constexpr (std::is_same_v<Element, bool>)
    return INGOT_TYPE_BOOL;
  else if constexpr (std::is_integral_v<Element> && sizeof(Element) == 8 &&
                     std::is_signed_v<Element>)
    return INGOT_TYPE_I64;
  else if constexpr (std::is_integral_v<Element> && sizeof(Element) == 4 &&
                     std::is_signed_v<Element>)
    return INGOT_TYPE_I32;
  else if constexpr (std::is_integral_v<Element> && sizeof(Element) == 1)
    return std::is_signed_v<Element> ? INGOT_TYPE_I8 : INGOT_TYPE_U8;
  else
    static_assert(sizeof(Element) == 0, "no type of a tensor");
}
} // namespace detail

/// The values of an input: a container of elements that lie one after the
/// other, or memory; by default what was filled in place.
struct Input : ingot_input {
  Input() : ingot_input{nullptr, 0} {}
  Input(const void *data, std::size_t bytes) : ingot_input{data, bytes} {}
  template <typename Container,
            typename = decltype(std::declval<const Container &>().data())>
  Input(const Container &values)
      : ingot_input{values.data(), values.size() * sizeof(*values.data())} {}
};

/// Memory for an output; by default it is not wanted.
struct Output : ingot_output {
  Output() : ingot_output{nullptr, 0} {}
  Output(void *data, std::size_t bytes) : ingot_output{data, bytes} {}
  template <typename Container,
            typename = decltype(std::declval<Container &>().data())>
  Output(Container &values)
      : ingot_output{values.data(), values.size() * sizeof(*values.data())} {}
};

// Lists of them are given on as they are.
static_assert(sizeof(Input) == sizeof(ingot_input) &&
              sizeof(Output) == sizeof(ingot_output));

/// Options with their defaults.
struct Options : ingot_options {
  Options() : ingot_options(ingot_default_options()) {}
};

/// A session, which is closed with its object. One thread uses it at a time.
class Session {
public:
  explicit Session(const ingot_model *model,
                   const ingot_options &options = Options()) {
    ingot_session *opened = nullptr;
    check(ingot_open(model, &options, &opened));
    session.reset(opened);
  }

  /// The session of ingot.h, for the calls of NAME.h.
  ingot_session *get() const noexcept { return session.get(); }

  /// Describes the entries of a list.
  std::vector<ingot_tensor> list(ingot_list list) const {
    std::vector<ingot_tensor> entries(ingot_count(get(), list));
    for (std::size_t i = 0; i < entries.size(); ++i)
      check(ingot_describe(get(), list, i, &entries[i]));
    return entries;
  }
  void selectShape(std::size_t index) {
    check(ingot_select_shape(get(), index));
  }

  /// Trains one step. Returns the first result, the loss, or writes several.
  double step(std::initializer_list<Input> inputs) {
    double loss = 0;
    step(inputs, &loss, 1);
    return loss;
  }
  void step(std::initializer_list<Input> inputs, double *results,
            std::size_t count) {
    check(ingot_step(get(), inputs.begin(), inputs.size(), results, count));
  }
  /// Evaluates the first samples of a batch. Returns the sums.
  std::vector<double> evaluate(std::initializer_list<Input> inputs,
                               std::size_t samples) {
    std::vector<double> sums(ingot_count(get(), INGOT_EVALUATE_RESULTS));
    check(ingot_evaluate(get(), inputs.begin(), inputs.size(), samples,
                         sums.data(), sums.size()));
    return sums;
  }
  void predict(std::initializer_list<Input> inputs, std::size_t samples,
               std::initializer_list<Output> outputs) {
    check(ingot_predict(get(), inputs.begin(), inputs.size(), samples,
                        outputs.begin(), outputs.size()));
  }
  /// Returns the memory of an input of the next call.
  template <typename T> T *getInput(ingot_list list, std::size_t index) {
    void *address = nullptr;
    check(ingot_input_address(get(), list, index, &address));
    return static_cast<T *>(address);
  }

  double getHyperparameter(const std::string &name) const {
    double value = 0;
    check(ingot_get_hyperparameter(get(), name.c_str(), &value));
    return value;
  }
  void setHyperparameter(const std::string &name, double value) {
    check(ingot_set_hyperparameter(get(), name.c_str(), value));
  }

  /// Copies a state out, or in, with its elements converted.
  template <typename Container>
  void getState(const std::string &name, Container &values) const {
    using T = std::remove_reference_t<decltype(*values.data())>;
    check(ingot_get_state(get(), name.c_str(), detail::getType<T>(),
                          values.data(), values.size() * sizeof(T)));
  }
  template <typename Container>
  void setState(const std::string &name, const Container &values) {
    using T = std::remove_reference_t<decltype(*values.data())>;
    check(ingot_set_state(get(), name.c_str(), detail::getType<T>(),
                          values.data(), values.size() * sizeof(T)));
  }
  void reset(std::uint64_t seed) { check(ingot_reset(get(), seed)); }

  void save(const std::string &folder, int keep = 0) {
    check(ingot_save(get(), folder.c_str(), keep));
  }
  void resume(const std::string &path) {
    check(ingot_resume(get(), path.c_str()));
  }
  void load(const std::string &path) { check(ingot_load(get(), path.c_str())); }
  void exportModel(const std::string &path) const {
    check(ingot_export(get(), path.c_str()));
  }

  ingot_statistics getStatistics() const {
    ingot_statistics statistics = {};
    statistics.size = sizeof(statistics);
    check(ingot_get_statistics(get(), &statistics));
    return statistics;
  }

private:
  struct Close {
    void operator()(ingot_session *session) const { ingot_close(session); }
  };
  std::unique_ptr<ingot_session, Close> session;
};

} // namespace ingot

#endif /* INGOT_HPP */
