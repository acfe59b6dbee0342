// SPDX-License-Identifier: Apache-2.0
//
// Allocates memory for tables in huge pages, which reduces TLB misses of random accesses.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace penumbra {

/// Zeroed memory of the operating system, aligned to 2 MiB and backed by transparent huge pages if the kernel has any.
/// Untouched memory costs only address space.
class HugeMemory {
 public:
  HugeMemory() = default;
  /// Allocates `bytes` bytes. Throws std::system_error if the operating system refuses.
  explicit HugeMemory(std::size_t bytes);
  /// Refers to memory that `owner` keeps, of any alignment and content.
  HugeMemory(std::byte* data, std::size_t bytes, std::shared_ptr<const void> owner)
      : data_(data), bytes_(bytes), owner_(std::move(owner)) {}
  ~HugeMemory();
  HugeMemory(HugeMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        owner_(std::move(other.owner_)) {}
  HugeMemory& operator=(HugeMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<const void> owner_;  ///< Of memory that this object does not free; null if it does.
};

/// An array of `Element` in huge memory. Every element starts as zero bytes.
template <class Element>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<Element> && std::is_trivially_default_constructible_v<Element>,
                "elements come into being as zero bytes");

 public:
  HugeArray() = default;
  explicit HugeArray(std::size_t count) : memory_(count * sizeof(Element)) {}

  Element* data() { return reinterpret_cast<Element*>(memory_.data()); }
  const Element* data() const { return reinterpret_cast<const Element*>(memory_.data()); }
  std::size_t size() const { return memory_.bytes() / sizeof(Element); }
  std::size_t bytes() const { return memory_.bytes(); }
  Element& operator[](std::size_t index) { return data()[index]; }
  const Element& operator[](std::size_t index) const { return data()[index]; }
  Element* begin() { return data(); }
  Element* end() { return data() + size(); }
  const Element* begin() const { return data(); }
  const Element* end() const { return data() + size(); }

 private:
  HugeMemory memory_;
};

}  // namespace penumbra
