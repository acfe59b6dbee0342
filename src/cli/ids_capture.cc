// SPDX-License-Identifier: Apache-2.0
//
// `penumbra ids -r CAPTURE`: evaluates rules on a capture.
#include "cli/ids_capture.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/stream_inspector.h"
#include "packet/parse.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

constexpr std::size_t kFlows = std::size_t{1} << 18;

/// The counts of a capture.
struct CaptureCounts {
  std::uint64_t frames = 0, inspected = 0, unreadable = 0, cut = 0;
};

/// Opens a capture. Closing is the destructor's task.
class CaptureFile {
 public:
  explicit CaptureFile(const std::string& file) : name_(file) {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    capture_.reset(pcap_open_offline(file.c_str(), reason.data()));
    if (capture_ == nullptr) throw InputError({file, 0, 0}, reason.data());
  }

  ids::LinkLayer link_layer() const {
    const int type = pcap_datalink(capture_.get());
    if (auto link = ids::LinkLayer::find(type)) return *std::move(link);
    const char* const name = pcap_datalink_val_to_name(type);
    throw InputError({name_, 0, 0},
                     fmt::format("link type {} is not supported; there are {}",
                                 name == nullptr ? std::to_string(type) : name, ids::LinkLayer::known()));
  }

  /// Returns the next frame, or null at the end. A capture that ends within a frame is read to there, with a warning.
  const u_char* next(pcap_pkthdr*& header) {
    const u_char* bytes = nullptr;
    const int result = pcap_next_ex(capture_.get(), &header, &bytes);
    if (result == 1) return bytes;
    if (result == PCAP_ERROR) {
      fmt::print(stderr, "{}: read to frame {} only: {}\n", name_, frames_, pcap_geterr(capture_.get()));
    }
    return nullptr;
  }
  void count() { ++frames_; }

 private:
  struct Close {
    void operator()(pcap_t* capture) const { pcap_close(capture); }
  };
  std::string name_;
  std::unique_ptr<pcap_t, Close> capture_;
  std::uint64_t frames_ = 0;
};

/// Writes events to a file.
class EveFile : public ids::EventSink {
 public:
  explicit EveFile(std::ostream& out) : out_(out) {}
  void on_event(const ids::Event& event, const std::string& members) override {
    out_ << ids::to_json(event, members) << '\n';
    if (event.kind == ids::Event::Kind::alert) ++alerts_;
  }
  std::uint64_t alerts() const { return alerts_; }

 private:
  std::ostream& out_;
  std::uint64_t alerts_ = 0;
};

CaptureCounts inspect(CaptureFile& capture, ids::StreamInspector& inspector) {
  constexpr std::uint64_t kMicroseconds = 1000000;
  CaptureCounts counts;
  ids::LinkLayer link = capture.link_layer();
  pcap_pkthdr* header = nullptr;
  while (const u_char* const bytes = capture.next(header)) {
    capture.count();
    ++counts.frames;
    if (header->caplen < header->len) ++counts.cut;
    const std::uint64_t now =
        static_cast<std::uint64_t>(header->ts.tv_sec) * kMicroseconds + static_cast<std::uint64_t>(header->ts.tv_usec);
    const std::span<const std::uint8_t> frame = link.to_ethernet({bytes, header->caplen});
    const ids::PacketView packet(frame, parse_headers(frame.data(), frame.size(), frame.size()));
    ++(packet.is_readable() ? counts.inspected : counts.unreadable);
    if (packet.is_readable()) inspector.inspect(packet, frame, {.now = now, .number = counts.frames});
  }
  inspector.finish();
  return counts;
}

void warn_of_skipped(const ids::CompiledRules& rules) {
  std::map<std::string, std::size_t> reasons;
  for (const auto& skipped : rules.not_evaluated()) ++reasons[skipped.reason];
  for (const auto& [reason, count] : reasons) fmt::print(stderr, "{} rules are not evaluated yet: {}\n", count, reason);
}

}  // namespace

void inspect_capture(const std::string& file, const ids::CompiledRules& rules, const ids::StreamSettings& streams,
                     const std::string& folder) {
  CaptureFile capture(file);
  ids::StreamInspector::Limits limits;
  limits.streams = streams.options;
  limits.policies = streams.policies;
  limits.detector.flows.flows = kFlows;
  warn_of_skipped(rules);
  const std::filesystem::path eve = std::filesystem::path(folder) / "eve.json";
  std::ofstream out(eve);
  if (!out) throw Failure(ExitCode::failure, fmt::format("cannot write {}", eve.string()));
  EveFile events(out);
  ids::StreamInspector inspector(limits, events);
  inspector.use(rules, false);
  const CaptureCounts counts = inspect(capture, inspector);
  out.flush();
  if (!out) throw Failure(ExitCode::failure, fmt::format("cannot write {} to its end", eve.string()));
  const ids::VerifyCounters& exceeded = inspector.detector().verify_counters();
  const ids::StreamCounters& found = inspector.streams().counters;
  std::string text = fmt::format(
      "{:>8}  rules evaluated\n{:>8}  frames\n{:>8}  packets inspected\n{:>8}  frames without readable IP\n",
      rules.rules().size(), counts.frames, counts.inspected, counts.unreadable);
  text += fmt::format("{:>8}  frames that the capture cut\n{:>8}  flows\n{:>8}  bytes of streams inspected\n",
                      counts.cut, inspector.sessions(), found.bytes);
  text += fmt::format("{:>8}  bytes of streams lost\n{:>8}  segments refused by limits\n{:>8}  alerts\n", found.lost,
                      found.of(ids::StreamEvent::flow_limit) + found.of(ids::StreamEvent::memory_limit) +
                          found.of(ids::StreamEvent::too_many_segments),
                      events.alerts());
  text += fmt::format("{:>8}  verifications ended by the limit of steps\n{:>8}  by a limit of pcre\n",
                      exceeded.steps_exceeded + exceeded.packets_exceeded, exceeded.pcre_exceeded);
  write_output(text);
}

}  // namespace penumbra::cli
