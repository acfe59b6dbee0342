// SPDX-License-Identifier: Apache-2.0
#include "io/frames.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "io/flow_spread.h"
#include "penumbra/errors.h"

namespace penumbra::io {
namespace {

using Capture = std::unique_ptr<pcap_t, decltype(&pcap_close)>;

/// Bytes of memory that can be had without swapping; 0 if the system does not say.
std::uint64_t available_memory() {
  std::ifstream table("/proc/meminfo");
  for (std::string name; table >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && table >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

InputError too_large(const std::filesystem::path& file) {
  return {{file.string()}, "does not fit into memory; split it (editcap -c PACKETS IN OUT) or replay a part of it"};
}

/// The file's size, or 0 for what is no regular file.
std::uint64_t size_of(const std::filesystem::path& file) {
  std::error_code failed;
  const std::uint64_t size = std::filesystem::file_size(file, failed);
  return failed ? 0 : size;
}

Capture open_capture(const std::filesystem::path& file) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  Capture capture(pcap_open_offline_with_tstamp_precision(file.c_str(), PCAP_TSTAMP_PRECISION_NANO, reason.data()),
                  &pcap_close);
  if (capture == nullptr) {
    std::string text = reason.data();
    if (text.starts_with(file.string() + ": ")) text.erase(0, file.string().size() + 2);
    throw InputError({file.string()}, fmt::format("not a readable capture (pcap or pcapng): {}", text));
  }
  const int type = pcap_datalink(capture.get());
  if (type != DLT_EN10MB) {
    const char* name = pcap_datalink_val_to_name(type);
    const char* meaning = pcap_datalink_val_to_description(type);
    throw InputError(
        {file.string()},
        fmt::format("its packets are not Ethernet frames but of link type {} ({}); convert them (tcprewrite "
                    "--dlt=enet, or editcap -T ether if only the type is wrong)",
                    name == nullptr ? std::to_string(type) : name, meaning == nullptr ? "unknown" : meaning));
  }
  return capture;
}

/// Seconds before 1970 are what libpcap makes of those after 2038 in a pcap file.
std::uint64_t nanoseconds_of(const pcap_pkthdr& header) {
  const auto seconds = header.ts.tv_sec < 0 ? static_cast<std::uint32_t>(header.ts.tv_sec)
                                            : static_cast<std::uint64_t>(header.ts.tv_sec);
  return seconds * 1'000'000'000 + static_cast<std::uint32_t>(header.ts.tv_usec);
}

Frames read_frames(const std::filesystem::path& file) {
  const std::uint64_t size = size_of(file);
  const std::uint64_t available = available_memory();
  if (available > 0 && size > available) throw too_large(file);
  const Capture capture = open_capture(file);
  Frames frames;
  frames.bytes.reserve(size);
  pcap_pkthdr* header = nullptr;
  const std::uint8_t* data = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(capture.get(), &header, &data)) == 1) {
    if (header->caplen > Frames::kLargest) {
      throw InputError({file.string()},
                       fmt::format("packet {}: {} bytes; the most that can be replayed are {} (editcap -s {} IN OUT "
                                   "cuts them)",
                                   frames.entries.size() + 1, header->caplen, Frames::kLargest, Frames::kLargest));
    }
    frames.add(nanoseconds_of(*header), {data, header->caplen});
  }
  if (result != PCAP_ERROR_BREAK) {
    throw InputError(
        {file.string()},
        fmt::format("packet {}: {}; the capture is damaged or was cut off: repair it (pcapfix) or keep what "
                    "is whole (editcap IN OUT)",
                    frames.entries.size() + 1, pcap_geterr(capture.get())));
  }
  return frames;
}

}  // namespace

void Frames::add(std::uint64_t nanoseconds, std::span<const std::uint8_t> frame) {
  entries.push_back({bytes.size(), nanoseconds, static_cast<std::uint32_t>(frame.size())});
  bytes.insert(bytes.end(), frame.begin(), frame.end());
}

std::uint32_t Frames::largest() const {
  std::uint32_t largest = 0;
  for (const FrameEntry& entry : entries) largest = std::max(largest, entry.size);
  return largest;
}

Frames load_capture(const std::filesystem::path& file) {
  try {
    return read_frames(file);
  } catch (const std::bad_alloc&) {
    throw too_large(file);
  }
}

std::vector<std::vector<FrameEntry>> partition(const Frames& frames, std::uint16_t queues) {
  std::vector<std::vector<FrameEntry>> parts(queues);
  for (const FrameEntry& entry : frames.entries) {
    parts[queue_of(frames.bytes.data() + entry.offset, entry.size, queues)].push_back(entry);
  }
  return parts;
}

}  // namespace penumbra::io
