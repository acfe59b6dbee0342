// SPDX-License-Identifier: Apache-2.0
//
// Memory for secrets: it is never swapped out or dumped, and is erased before it is freed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace penumbra {

/// Overwrites `bytes` bytes with zeros; compilers never remove that.
void erase_bytes(void* memory, std::size_t bytes);

/// Keeps all memory of the process out of core dumps and debuggers of its user.
void forbid_dumps();

/// Erases and frees the memory of SecretMemory.
struct EraseAndUnmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept;
};

/// Zeroed memory of whole pages.
class SecretMemory {
 public:
  SecretMemory() = default;
  /// Allocates and locks `bytes` bytes. Throws std::system_error if the operating system refuses; the limit of locked
  /// memory (RLIMIT_MEMLOCK) may be too low.
  explicit SecretMemory(std::size_t bytes);

  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return memory_ == nullptr ? 0 : memory_.get_deleter().bytes; }

 private:
  std::unique_ptr<std::byte, EraseAndUnmap> memory_;
};

/// An array of `Element` in secret memory. Every element starts as zero bytes.
template <class Element>
class SecretArray {
  static_assert(std::is_trivially_copyable_v<Element>, "elements come into being as zero bytes");

 public:
  SecretArray() = default;
  explicit SecretArray(std::size_t count) : memory_(count * sizeof(Element)) {}

  std::size_t size() const { return memory_.bytes() / sizeof(Element); }
  Element& operator[](std::size_t index) { return span()[index]; }
  const Element& operator[](std::size_t index) const { return span()[index]; }
  std::span<Element> span() const { return {reinterpret_cast<Element*>(memory_.data()), size()}; }
  /// Overwrites an element with zeros.
  void erase(std::size_t index) { erase_bytes(&span()[index], sizeof(Element)); }

 private:
  SecretMemory memory_;
};

}  // namespace penumbra
