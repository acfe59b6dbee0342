// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/inflater.h"

#include <zlib.h>

namespace penumbra::ids {

Inflater::Inflater() : stream_(std::make_unique<z_stream>()) {}

Inflater::~Inflater() {
  if (is_made_) inflateEnd(stream_.get());
}

void Inflater::begin(Format format) {
  format_ = format;
  is_started_ = failed_ = false;
}

/// zlib's memory is made once and used again for later streams.
bool Inflater::start(int window_bits) {
  if (is_made_) return inflateReset2(stream_.get(), window_bits) == Z_OK;
  is_made_ = inflateInit2(stream_.get(), window_bits) == Z_OK;
  return is_made_;
}

Inflater::Result Inflater::run(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) {
  constexpr int kGzip = 15 + 16, kZlib = 15, kRaw = -15;
  if (failed_) return Result::failed;
  if (in.empty()) return Result::more;
  if (!is_started_) {
    // A header of zlib has the method 8 in its low bits (RFC 1950, section 2.2).
    const int bits = format_ == Format::gzip ? kGzip : (in[0] & 0x0F) == 8 && (in[0] >> 4) <= 7 ? kZlib : kRaw;
    failed_ = !start(bits);
    is_started_ = true;
    if (failed_) return Result::failed;
  }
  stream_->next_in = const_cast<Bytef*>(in.data());
  stream_->avail_in = static_cast<uInt>(in.size());
  stream_->next_out = out.data();
  stream_->avail_out = static_cast<uInt>(out.size());
  const int result = inflate(stream_.get(), Z_SYNC_FLUSH);
  in = in.last(stream_->avail_in);
  out = out.last(stream_->avail_out);
  if (result == Z_STREAM_END) return Result::done;
  failed_ = result != Z_OK && result != Z_BUF_ERROR;
  return failed_ ? Result::failed : Result::more;
}

}  // namespace penumbra::ids
