// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a shader on a device. A device gets the columns of a batch as a list of pointers: those of the plain
// columns and those that payload adds, in the order of the shader's arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "penumbra/shader_entry.h"

namespace penumbra::offload {

/// Base addresses of a batch's payload. A shader without payload does not use them.
struct PayloadBases {
  const std::byte* source;
  std::byte* destination;
};

namespace detail {

template <class... Column>
using List = penumbra::detail::ArgumentList<Column...>;

/// The columns of one argument.
template <class Argument>
struct ColumnsOf {
  using type = List<Argument>;
};
template <>
struct ColumnsOf<penumbra_source> {
  using type = List<const std::uint64_t*, const std::uint32_t*>;
};
template <>
struct ColumnsOf<penumbra_destination> {
  using type = List<const std::uint64_t*, const std::uint32_t*, std::uint32_t*>;
};

template <class... Lists>
struct Joined;
template <class... Column>
struct Joined<List<Column...>> {
  using type = List<Column...>;
};
template <class... First, class... Second, class... Rest>
struct Joined<List<First...>, List<Second...>, Rest...> {
  using type = typename Joined<List<First..., Second...>, Rest...>::type;
};

template <class Arguments>
struct AllColumns;
template <class... Argument>
struct AllColumns<List<Argument...>> {
  using type = typename Joined<List<>, typename ColumnsOf<Argument>::type...>::type;
};

template <class Argument>
inline constexpr std::size_t kColumnsOf = ShaderArgument<Argument>::kInputs + ShaderArgument<Argument>::kOutputs;

template <class Argument>
__device__ __forceinline__ Argument argument(std::byte* const* columns, const PayloadBases& bases) {
  if constexpr (std::is_same_v<Argument, penumbra_source>) {
    return {reinterpret_cast<const std::uint8_t*>(bases.source), reinterpret_cast<const std::uint64_t*>(columns[0]),
            reinterpret_cast<const std::uint32_t*>(columns[1])};
  } else if constexpr (std::is_same_v<Argument, penumbra_destination>) {
    return {reinterpret_cast<std::uint8_t*>(bases.destination), reinterpret_cast<const std::uint64_t*>(columns[0]),
            reinterpret_cast<const std::uint32_t*>(columns[1]), reinterpret_cast<std::uint32_t*>(columns[2])};
  } else {
    return reinterpret_cast<Argument>(columns[0]);
  }
}

/// Returns the number of columns of the arguments before `Position`.
template <std::size_t Position, class... Argument>
constexpr std::size_t columns_before() {
  constexpr std::size_t kCounts[] = {kColumnsOf<Argument>..., 0};
  std::size_t before = 0;
  for (std::size_t i = 0; i != Position; ++i) before += kCounts[i];
  return before;
}

template <auto Function, class View, class... Argument, std::size_t... Position>
__device__ __forceinline__ void call(const View& view, std::byte* const* columns, const PayloadBases& bases,
                                     std::uint32_t items, List<Argument...>, std::index_sequence<Position...>) {
  Function(view, argument<Argument>(columns + columns_before<Position, Argument...>(), bases)..., items);
}

}  // namespace detail

/// The columns of a shader's arguments between the view and n, as an ArgumentList of pointers.
template <class Arguments>
using AllColumns = typename detail::AllColumns<Arguments>::type;

template <class... Column>
constexpr std::size_t count_of(penumbra::detail::ArgumentList<Column...>) {
  return sizeof...(Column);
}

template <class... Argument>
constexpr bool has_payload(penumbra::detail::ArgumentList<Argument...>) {
  return ((std::is_same_v<Argument, penumbra_source> || std::is_same_v<Argument, penumbra_destination>) || ...);
}

/// Calls the shader `Function` with its arguments, `columns` being those of AllColumns.
template <auto Function, class View, class... Argument>
__device__ __forceinline__ void call(const View& view, std::byte* const* columns, const PayloadBases& bases,
                                     std::uint32_t items, penumbra::detail::ArgumentList<Argument...> arguments) {
  detail::call<Function>(view, columns, bases, items, arguments, std::index_sequence_for<Argument...>{});
}

}  // namespace penumbra::offload
