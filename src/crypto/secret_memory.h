// SPDX-License-Identifier: Apache-2.0
//
// Memory for secrets: it is never swapped out or dumped, and is erased before it is freed.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace penumbra {

/// Overwrites `bytes` bytes with zeros; compilers never remove that.
void erase_bytes(void* memory, std::size_t bytes);

/// Zeroed memory of whole pages.
class SecretMemory {
 public:
  SecretMemory() = default;
  /// Allocates and locks `bytes` bytes. Throws std::system_error if the operating system refuses; the limit of locked
  /// memory (RLIMIT_MEMLOCK) may be too low.
  explicit SecretMemory(std::size_t bytes);
  ~SecretMemory();
  SecretMemory(SecretMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SecretMemory& operator=(SecretMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An array of `Element` in secret memory. Every element starts as zero bytes.
template <class Element>
class SecretArray {
  static_assert(std::is_trivially_copyable_v<Element>, "elements come into being as zero bytes");

 public:
  SecretArray() = default;
  explicit SecretArray(std::size_t count) : memory_(count * sizeof(Element)), count_(count) {}

  std::size_t size() const { return count_; }
  Element& operator[](std::size_t index) { return span()[index]; }
  const Element& operator[](std::size_t index) const { return span()[index]; }
  std::span<Element> span() const { return {reinterpret_cast<Element*>(memory_.data()), count_}; }
  /// Overwrites an element with zeros.
  void erase(std::size_t index) { erase_bytes(&span()[index], sizeof(Element)); }

 private:
  SecretMemory memory_;
  std::size_t count_ = 0;
};

}  // namespace penumbra
