// SPDX-License-Identifier: Apache-2.0
#include "made_frames.h"

#include <span>
#include <stdexcept>

#include "io/capture_writer.h"
#include "packet/checksum.h"

namespace penumbra::bench {

void put(FrameBytes& frame, std::uint64_t value, int bytes) {
  while (bytes-- > 0) frame.push_back(static_cast<std::uint8_t>(value >> 8 * bytes));
}

FrameBytes ethernet_header(std::uint64_t destination, std::uint64_t source, std::uint16_t ethertype) {
  FrameBytes frame;
  put(frame, destination, 6);
  put(frame, source, 6);
  put(frame, ethertype, 2);
  return frame;
}

FrameBytes udp_frame(std::uint16_t frame_bytes, std::uint32_t source, std::uint32_t destination,
                     std::uint16_t source_port, std::uint16_t destination_port) {
  constexpr std::size_t kEthernet = 14, kIpv4 = 20;
  FrameBytes frame = ethernet_header(kRouterMac, kHostMac, 0x0800);
  put(frame, 0x4500, 2);
  put(frame, frame_bytes - kEthernet, 2);
  put(frame, 0, 4);
  put(frame, 0x4011, 2);  // TTL 64, UDP.
  put(frame, 0, 2);
  put(frame, source, 4);
  put(frame, destination, 4);
  put(frame, source_port, 2);
  put(frame, destination_port, 2);
  put(frame, frame_bytes - kEthernet - kIpv4, 2);
  put(frame, 0, 2);
  write_ipv4_checksum(frame.data() + kEthernet);
  frame.resize(frame_bytes);
  return frame;
}

void write_capture(const std::filesystem::path& file, std::size_t count,
                   const std::function<FrameBytes(std::size_t)>& frame) {
  io::CaptureFile capture(file);
  capture.begin();
  io::CaptureWriter writer(capture);
  for (std::size_t i = 0; i < count; ++i) writer.add(i, frame(i));
  writer.flush();
  if (capture.error() != 0) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace penumbra::bench
