// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/http_body.h"

#include <algorithm>
#include <optional>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// Returns how a coding is decoded, or nothing if it is not.
std::optional<Inflater::Format> format_of(std::string_view coding) {
  if (coding == "gzip" || coding == "x-gzip") return Inflater::Format::gzip;
  if (coding == "deflate" || coding == "x-deflate") return Inflater::Format::deflate;
  return std::nullopt;
}

}  // namespace

void HttpBody::clear() {
  bytes_.clear();
  layers_ = 0;
  ended_ = false;
}

HttpBody::Fault HttpBody::begin(std::string_view encoding) {
  clear();
  if (encoding.empty()) return Fault::none;
  std::array<Inflater::Format, kMostLayers> formats{};
  for (const std::string_view word : split(encoding, ',')) {
    const auto format = format_of(lower(trim(word)));
    if (!format) continue;
    if (layers_ == kMostLayers) {
      layers_ = 0;
      return Fault::too_many_layers;
    }
    formats[layers_++] = *format;
  }
  // The coding that is named last was applied last.
  for (std::size_t i = 0; i < layers_; ++i) inflaters_[i].begin(formats[layers_ - 1 - i]);
  return Fault::none;
}

void HttpBody::keep(std::span<const std::uint8_t> bytes) {
  const std::size_t room = kMostBytes - std::min(kMostBytes, bytes_.size());
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), std::min(room, bytes.size()));
}

HttpBody::Fault HttpBody::decode(std::size_t layer, std::span<const std::uint8_t> bytes, std::size_t& made) {
  if (layer == layers_) {
    keep(bytes);
    return Fault::none;
  }
  std::array<std::uint8_t, 4096> room;
  while (!bytes.empty() && !is_full() && !ended_ && made < kMostMade) {
    std::span<std::uint8_t> out = room;
    const std::size_t before = bytes.size();
    const Inflater::Result result = inflaters_[layer].run(bytes, out);
    const std::size_t size = room.size() - out.size();
    made += size;
    const Fault fault = decode(layer + 1, std::span(room).first(size), made);
    if (fault != Fault::none) return fault;
    if (result != Inflater::Result::more) ended_ = true;
    if (result == Inflater::Result::failed) return Fault::failed;
    if (size == 0 && bytes.size() == before) break;
  }
  return Fault::none;
}

HttpBody::Fault HttpBody::add(std::span<const std::uint8_t> bytes) {
  if (is_full() || ended_) return Fault::none;
  std::size_t made = 0;
  const Fault fault = decode(0, bytes, made);
  if (made >= kMostMade) ended_ = true;
  return fault;
}

std::size_t HttpBody::memory() const {
  std::size_t bytes = bytes_.capacity();
  for (const Inflater& inflater : inflaters_) bytes += inflater.memory();
  return bytes;
}

}  // namespace penumbra::ids
