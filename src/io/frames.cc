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
#include <string_view>

#include "base/proc.h"
#include "io/flow_spread.h"
#include "io/pcapng_sections.h"
#include "penumbra/errors.h"

namespace penumbra::io {
namespace {

using Capture = std::unique_ptr<pcap_t, decltype(&pcap_close)>;

InputError too_large(const std::filesystem::path& file) {
  return {{file.string()}, "does not fit into memory; split it (editcap -c PACKETS IN OUT) or replay a part of it"};
}

/// Returns the file's size in bytes, or 0 for other than regular files.
std::uint64_t size_of(const std::filesystem::path& file) {
  std::error_code failed;
  const std::uint64_t size = std::filesystem::file_size(file, failed);
  return failed ? 0 : size;
}

/// Returns advice for a file that libpcap does not recognise, to append to the reason. Returns "" for other errors,
/// such as a truncated file.
std::string advice_on_format(const std::filesystem::path& file, const std::string& reason) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return "";  // Reading a pipe would consume its data.
  if (size_of(file) == 0) return "; the file is empty";
  std::array<char, 3> first{};
  std::ifstream(file, std::ios::binary).read(first.data(), first.size());
  const std::string_view magic(first.data(), first.size());
  if (magic.starts_with("\x1F\x8B")) return "; it is compressed: unpack it (gunzip)";
  if (magic == "\x28\xB5\x2F") return "; it is compressed: unpack it (unzstd)";
  if (magic == "\xFD\x37\x7A") return "; it is compressed: unpack it (unxz)";
  if (reason.starts_with("archaic")) return "; no tool of today reads pcap files from before version 2: capture again";
  if (reason.starts_with("unknown")) return "; a capture of another format must be converted (editcap -F pcap IN OUT)";
  return "";
}

/// Returns the difference between the interfaces or sections of a pcapng file that makes libpcap fail with `reason`,
/// and advice. Returns "" for any other reason.
std::string describe_differing_parts(const std::filesystem::path& file, const std::string& reason) {
  if (reason.starts_with("an interface has a type")) {
    return "its interfaces are of different link types; take the Ethernet packets out of it (tshark -r IN -Y "
           "frame.encap_type==1 -w ETHERNET, then editcap -F pcap -T ether ETHERNET OUT)";
  }
  if (reason.starts_with("an interface has a snapshot length")) {
    return "its interfaces have different snapshot lengths; write it as pcap (editcap -F pcap IN OUT)";
  }
  if (has_mixed_byte_orders(file)) {
    return "its sections are of different byte orders; write it as pcap (editcap -F pcap IN OUT)";
  }
  return "";
}

/// Returns why a capture whose first interface is not Ethernet cannot be replayed. Other interfaces may be Ethernet.
std::string describe_link_type(const std::filesystem::path& file, pcap_t* capture) {
  pcap_pkthdr* header = nullptr;
  const std::uint8_t* data = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(capture, &header, &data)) == 1) continue;
  std::string differing = result == PCAP_ERROR ? describe_differing_parts(file, pcap_geterr(capture)) : "";
  if (!differing.empty()) return differing;
  const int type = pcap_datalink(capture);
  const char* name = pcap_datalink_val_to_name(type);
  const char* meaning = pcap_datalink_val_to_description(type);
  return fmt::format(
      "its packets are not Ethernet frames but of link type {} ({}); convert them (tcprewrite --dlt=enet, or editcap "
      "-T "
      "ether if only the type is wrong)",
      name == nullptr ? std::to_string(type) : name, meaning == nullptr ? "unknown" : meaning);
}

Capture open_capture(const std::filesystem::path& file) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  Capture capture(pcap_open_offline_with_tstamp_precision(file.c_str(), PCAP_TSTAMP_PRECISION_NANO, reason.data()),
                  &pcap_close);
  if (capture == nullptr) {
    std::string text = reason.data();
    if (text.starts_with(file.string() + ": ")) text.erase(0, file.string().size() + 2);
    throw InputError({file.string()},
                     fmt::format("not a readable capture (pcap or pcapng): {}{}", text, advice_on_format(file, text)));
  }
  if (pcap_datalink(capture.get()) != DLT_EN10MB)
    throw InputError({file.string()}, describe_link_type(file, capture.get()));
  return capture;
}

/// libpcap turns times after 2038 in a pcap file into times before 1970.
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
    const std::string reason = pcap_geterr(capture.get());
    const std::string differing = describe_differing_parts(file, reason);
    if (!differing.empty()) throw InputError({file.string()}, differing);
    throw InputError(
        {file.string()},
        fmt::format("packet {}: {}; the capture is damaged or was cut off: repair it (pcapfix) or keep what "
                    "is whole (editcap IN OUT)",
                    frames.entries.size() + 1, reason));
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
