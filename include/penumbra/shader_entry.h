// SPDX-License-Identifier: Apache-2.0
//
// Reads a shader's signature at compile time, so that an engine can call any shader through one function type.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "penumbra/batch.h"

namespace penumbra {

/// Traits of one shader argument, with its location in a batch.
template <class Argument>
struct ShaderArgument;

template <class Element>
struct ShaderArgument<const Element*> {
  static constexpr bool is_input = true, is_output = false, is_arena = false;
  static constexpr std::size_t element_bytes = sizeof(Element);
  static const Element* get(const Batch& batch, std::size_t inputs_before, std::size_t /*outputs_before*/) {
    return static_cast<const Element*>(batch.inputs[inputs_before]);
  }
};

template <class Element>
struct ShaderArgument<Element*> {
  static constexpr bool is_input = false, is_output = true, is_arena = false;
  static constexpr std::size_t element_bytes = sizeof(Element);
  static Element* get(const Batch& batch, std::size_t /*inputs_before*/, std::size_t outputs_before) {
    return static_cast<Element*>(batch.outputs[outputs_before]);
  }
};

template <>
struct ShaderArgument<penumbra_arena> {
  static constexpr bool is_input = false, is_output = false, is_arena = true;
  static constexpr std::size_t element_bytes = 0;
  static penumbra_arena get(const Batch& batch, std::size_t /*inputs_before*/, std::size_t /*outputs_before*/) {
    return batch.arena;
  }
};

namespace detail {

/// The arguments between the view and n, as a type list.
template <class... Arguments>
struct ArgumentList {};

template <class Done, class... Rest>
struct WithoutCount;
template <class... Done>
struct WithoutCount<ArgumentList<Done...>, std::uint32_t> {
  using type = ArgumentList<Done...>;
};
template <class... Done, class First, class... Rest>
struct WithoutCount<ArgumentList<Done...>, First, Rest...> {
  using type = typename WithoutCount<ArgumentList<Done..., First>, Rest...>::type;
};

}  // namespace detail

/// Describes the signature of the shader `Function` and calls it on a batch.
template <auto Function>
struct ShaderEntry;

template <class View, class... Arguments, void (*Function)(View, Arguments...)>
struct ShaderEntry<Function> {
  static_assert(std::is_trivially_copyable_v<View>, "a view is taken by value on every engine");

  /// Returns the signature under the given name.
  static Shader describe(const char* name) { return describe(name, Columns{}); }

  /// Calls the shader on the batch. `view` points to a View.
  static void call(const void* view, const Batch& batch) { call(view, batch, Function); }
  /// Calls another function with the shader's arguments.
  template <class Callable>
  static void call(const void* view, const Batch& batch, const Callable& function) {
    call(view, batch, function, Columns{});
  }

 private:
  using Columns = typename detail::WithoutCount<detail::ArgumentList<>, Arguments...>::type;

  template <class... Column>
  static Shader describe(const char* name, detail::ArgumentList<Column...>) {
    Shader shader{.name = name, .view_bytes = sizeof(View), .input_bytes = {}, .output_bytes = {}};
    const auto add = [&shader]<class Argument>(ShaderArgument<Argument>) {
      using Traits = ShaderArgument<Argument>;
      if constexpr (Traits::is_input) shader.input_bytes.push_back(Traits::element_bytes);
      if constexpr (Traits::is_output) shader.output_bytes.push_back(Traits::element_bytes);
      if constexpr (Traits::is_arena) shader.has_arena = true;
    };
    (add(ShaderArgument<Column>{}), ...);
    return shader;
  }

  template <class Callable, class... Column>
  static void call(const void* view, const Batch& batch, const Callable& function,
                   detail::ArgumentList<Column...> columns) {
    call(view, batch, function, columns, std::index_sequence_for<Column...>{});
  }

  template <class Callable, class... Column, std::size_t... Position>
  static void call(const void* view, const Batch& batch, const Callable& function, detail::ArgumentList<Column...>,
                   std::index_sequence<Position...>) {
    constexpr auto kInputsBefore = count_before<Column...>([](auto traits) { return decltype(traits)::is_input; });
    constexpr auto kOutputsBefore = count_before<Column...>([](auto traits) { return decltype(traits)::is_output; });
    static_assert((0 + ... + ShaderArgument<Column>::is_input) <= kMaxColumns);
    static_assert((0 + ... + ShaderArgument<Column>::is_output) <= kMaxColumns);
    function(*static_cast<const View*>(view),
             ShaderArgument<Column>::get(batch, kInputsBefore[Position], kOutputsBefore[Position])..., batch.items);
  }

  template <class... Column, class Predicate>
  static constexpr std::array<std::size_t, sizeof...(Column)> count_before(Predicate predicate) {
    constexpr std::size_t kCount = sizeof...(Column);
    const std::array<bool, kCount> counts{predicate(ShaderArgument<Column>{})...};
    std::array<std::size_t, kCount> before{};
    for (std::size_t i = 1; i < kCount; ++i) before[i] = before[i - 1] + (counts[i - 1] ? 1 : 0);
    return before;
  }
};

}  // namespace penumbra
