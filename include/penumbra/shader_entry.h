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
  static constexpr bool is_input = true, is_output = false;
  static constexpr std::size_t kInputs = 1, kOutputs = 0, element_bytes = sizeof(Element);
  static void describe(Shader& shader) { shader.input_bytes.push_back(element_bytes); }
  static const Element* get(const Batch& batch, std::size_t inputs_before, std::size_t /*outputs_before*/) {
    return static_cast<const Element*>(batch.inputs[inputs_before]);
  }
};

template <class Element>
struct ShaderArgument<Element*> {
  static constexpr bool is_input = false, is_output = true;
  static constexpr std::size_t kInputs = 0, kOutputs = 1, element_bytes = sizeof(Element);
  static void describe(Shader& shader) { shader.output_bytes.push_back(element_bytes); }
  static Element* get(const Batch& batch, std::size_t /*inputs_before*/, std::size_t outputs_before) {
    return static_cast<Element*>(batch.outputs[outputs_before]);
  }
};

template <>
struct ShaderArgument<penumbra_source> {
  static constexpr std::size_t kInputs = 2, kOutputs = 0;
  static void describe(Shader& shader) {
    shader.source = {.positions = shader.input_bytes.size()};
    shader.input_bytes.insert(shader.input_bytes.end(), {sizeof(std::uint64_t), sizeof(std::uint32_t)});
  }
  static penumbra_source get(const Batch& batch, std::size_t inputs_before, std::size_t /*outputs_before*/) {
    return {reinterpret_cast<const std::uint8_t*>(batch.source),
            static_cast<const std::uint64_t*>(batch.inputs[inputs_before]),
            static_cast<const std::uint32_t*>(batch.inputs[inputs_before + 1])};
  }
};

template <>
struct ShaderArgument<penumbra_destination> {
  static constexpr std::size_t kInputs = 2, kOutputs = 1;
  static void describe(Shader& shader) {
    shader.destination = {.positions = shader.input_bytes.size(), .lengths = shader.output_bytes.size()};
    shader.input_bytes.insert(shader.input_bytes.end(), {sizeof(std::uint64_t), sizeof(std::uint32_t)});
    shader.output_bytes.push_back(sizeof(std::uint32_t));
  }
  static penumbra_destination get(const Batch& batch, std::size_t inputs_before, std::size_t outputs_before) {
    return {reinterpret_cast<std::uint8_t*>(batch.destination),
            static_cast<const std::uint64_t*>(batch.inputs[inputs_before]),
            static_cast<const std::uint32_t*>(batch.inputs[inputs_before + 1]),
            static_cast<std::uint32_t*>(batch.outputs[outputs_before])};
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
    (ShaderArgument<Column>::describe(shader), ...);
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
    constexpr auto kInputsBefore = count_before<Column...>([](auto traits) { return decltype(traits)::kInputs; });
    constexpr auto kOutputsBefore = count_before<Column...>([](auto traits) { return decltype(traits)::kOutputs; });
    static_assert((0 + ... + ShaderArgument<Column>::kInputs) <= kMaxColumns);
    static_assert((0 + ... + ShaderArgument<Column>::kOutputs) <= kMaxColumns);
    static_assert((0 + ... + std::is_same_v<Column, penumbra_source>) <= 1, "a shader has one source");
    static_assert((0 + ... + std::is_same_v<Column, penumbra_destination>) <= 1, "a shader has one destination");
    function(*static_cast<const View*>(view),
             ShaderArgument<Column>::get(batch, kInputsBefore[Position], kOutputsBefore[Position])..., batch.items);
  }

  template <class... Column, class Count>
  static constexpr std::array<std::size_t, sizeof...(Column)> count_before(Count count) {
    constexpr std::size_t kCount = sizeof...(Column);
    const std::array<std::size_t, kCount> counts{count(ShaderArgument<Column>{})...};
    std::array<std::size_t, kCount> before{};
    for (std::size_t i = 1; i < kCount; ++i) before[i] = before[i - 1] + counts[i - 1];
    return before;
  }
};

}  // namespace penumbra
