// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct z_stream_s;

namespace penumbra::ids {

/// Decompresses gzip (RFC 1952), zlib (RFC 1950) and raw deflate (RFC 1951).
class Inflater {
 public:
  enum class Format : std::uint8_t { gzip, deflate };

  Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  /// Begins another stream. `deflate` is zlib or raw, whichever its first bytes show.
  void begin(Format format);
  enum class Result : std::uint8_t { more, done, failed };
  /// Decompresses from `in` to `out` until one of them is used up. Removes what was used from both.
  Result run(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out);
  /// Returns about how many bytes are held.
  std::size_t memory() const { return is_made_ ? kStreamBytes : 0; }

 private:
  bool start(int window_bits);

  /// The window of a stream, 32 KiB, and its tables.
  static constexpr std::size_t kStreamBytes = std::size_t{44} << 10;

  std::unique_ptr<z_stream_s> stream_;
  bool is_made_ = false, is_started_ = false, failed_ = false;
  Format format_ = Format::gzip;
};

}  // namespace penumbra::ids
