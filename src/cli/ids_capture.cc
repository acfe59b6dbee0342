// SPDX-License-Identifier: Apache-2.0
//
// `penumbra ids -r CAPTURE`: evaluates rules on a capture, or on each capture of a folder.
#include "cli/ids_capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/ids_reassembly.h"
#include "cli/output.h"
#include "functions/ids/detect/eve.h"
#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/stream_inspector.h"
#include "functions/ids/detect/tunnel.h"
#include "packet/parse.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

constexpr std::size_t kFlows = std::size_t{1} << 18;

/// The counts of all captures of a run.
struct CaptureCounts {
  std::uint64_t frames = 0, inspected = 0, unreadable = 0, cut = 0;
  std::uint64_t flows = 0, bytes = 0, lost = 0, refused = 0;
  std::uint64_t steps_exceeded = 0, pcre_exceeded = 0;
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
  /// Returns the number of the frame that next() has returned, from 1.
  std::uint64_t count() { return ++frames_; }

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
  /// Makes the file empty. A link could lead the events into any file, so links are refused.
  explicit EveFile(const std::filesystem::path& path) : path_(path) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    constexpr mode_t kMode = 0666;  // and the umask
    const int file = ::open(path.c_str(), kFlags, kMode);
    if (file < 0 && errno == ELOOP) throw Failure(ExitCode::failure, path.string() + " is a symbolic link");
    out_.reset(file < 0 ? nullptr : ::fdopen(file, "w"));
    if (out_ == nullptr) throw Failure(ExitCode::failure, "cannot write " + path.string());
  }
  void on_event(const ids::Event& event, const std::string& members) override {
    std::string line = ids::to_json(event, members.empty() ? file_ : file_.empty() ? members : members + "," + file_);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), out_.get());
    if (event.kind == ids::Event::Kind::alert) ++alerts_;
  }
  /// Names the capture of the events that follow.
  void name_capture(const std::string& file) { file_ = "\"pcap_filename\":" + nlohmann::json(file).dump(); }
  std::uint64_t alerts() const { return alerts_; }
  /// Throws Failure if not all events were written.
  void finish() {
    if (std::fflush(out_.get()) != 0 || std::ferror(out_.get()) != 0) {
      throw Failure(ExitCode::failure, "cannot write " + path_.string() + " to its end");
    }
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> out_;
  std::string file_;  ///< A member of events, or empty.
  std::uint64_t alerts_ = 0;
};

/// The rules and settings of a run, and the objects that inspect a capture's packets by them.
struct CaptureWorld {
  const ids::CompiledRules& rules;
  const CaptureSettings& settings;
  EveFile& events;
  ids::StreamInspector& inspector;
  CaptureReassembly& reassembly;
};

void report_drop(const ids::PacketView& packet, const ids::PacketOrigin& origin, const ids::Detector::Alert& alert,
                 ids::DropReason reason, const CaptureWorld& world) {
  ids::Event event = ids::make_drop(alert, reason, packet, world.rules, origin.now);
  event.number = origin.number;
  event.made_by = origin.made_by;
  world.events.on_event(event, "");
}

/// Does what an inline system does with a packet that a rule, its flow or an exception policy drops. Returns true if
/// the packet is dropped.
bool drop(const ids::PacketView& packet, const ids::PacketOrigin& origin, const ids::Inspection& found,
          const CaptureWorld& world) {
  const auto report = [&](const ids::ActiveRule* rule, ids::Action action, ids::DropReason reason) {
    report_drop(packet, origin, {rule, found.to_server, found.flow == nullptr ? 0 : found.flow->id, action}, reason,
                world);
    return true;
  };
  if (found.flow == nullptr) {
    const bool is_dropped = ids::drops(world.settings.exceptions.of(ids::ExceptionCause::flows));
    return is_dropped && report(nullptr, ids::Action::drop, ids::DropReason::flows);
  }
  if (found.fate == ids::TrackedFlow::Fate::drop) return true;
  if (found.dropped_for) return report(nullptr, ids::Action::drop, ids::drop_reason_of(*found.dropped_for));
  if (found.rule == nullptr || found.action == ids::Action::pass) return false;
  if (found.is_about_flow) found.flow->fate = ids::TrackedFlow::Fate::drop;
  return report(found.rule, found.action, ids::DropReason::rules);
}

struct FrameOutcome {
  bool is_readable = false;
  bool is_dropped = false;  ///< An inline system would not let it through.
};

/// Inspects a packet, and first those that are in it: the packet of a tunnel, the datagram of a last fragment. An
/// inline system that drops these drops the packet.
FrameOutcome inspect(std::span<const std::uint8_t> frame, const ids::PacketOrigin& origin, const CaptureWorld& world,
                     unsigned depth = 0) {
  constexpr unsigned kMostTunnels = 15;
  const auto is_inner_dropped = [&](std::span<const std::uint8_t> inner, ids::PacketSource source) {
    const ids::PacketOrigin made{.now = origin.now, .number = origin.number, .made_by = source};
    return inspect(inner, made, world, depth + 1).is_dropped;
  };
  bool is_dropped = false;
  ids::ExceptionPolicy policy = ids::ExceptionPolicy::ignore;
  const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
  const bool is_fragment = headers.has(PacketHeaders::kFragment);
  if (is_fragment && depth < kMostTunnels) {
    const CaptureReassembly::Added added = world.reassembly.add(headers, frame, origin.now);
    if (!added.datagram.empty()) is_dropped = is_inner_dropped(added.datagram, ids::PacketSource::defrag);
    if (added.lacks_memory) policy = world.settings.fragments;
  }
  const ids::PacketView packet =
      is_fragment ? ids::PacketView::of_fragment(frame, headers) : ids::PacketView(frame, headers);
  if (!packet.is_readable()) return {.is_dropped = is_dropped};
  if (ids::drops(policy)) report_drop(packet, origin, {}, ids::DropReason::fragments, world);
  if (policy != ids::ExceptionPolicy::ignore) return {.is_readable = true, .is_dropped = ids::drops(policy)};
  if (const auto carried = ids::tunnel_payload(packet, frame, world.settings.tunnels);
      carried && depth < kMostTunnels) {
    ids::LinkLayer link(carried->kind);
    is_dropped |= is_inner_dropped(link.to_ethernet(carried->frame), carried->source);
  }
  if (is_dropped) return {.is_readable = true, .is_dropped = true};
  const ids::Inspection found = world.inspector.inspect(packet, frame, origin);
  return {.is_readable = true, .is_dropped = world.settings.simulates_ips && drop(packet, origin, found, world)};
}

/// Inspects the packets of a capture and adds to `counts`. Sessions do not outlive their capture.
void inspect(CaptureFile& capture, const ids::CompiledRules& rules, const CaptureSettings& settings,
             CaptureReassembly& reassembly, EveFile& events, CaptureCounts& counts) {
  constexpr std::uint64_t kMicroseconds = 1000000;
  ids::LinkLayer link = capture.link_layer();
  ids::StreamInspector::Limits limits;
  limits.streams = settings.streams.options;
  limits.policies = settings.streams.policies;
  limits.detector.flows.flows = kFlows;
  ids::StreamInspector inspector(limits, events);
  inspector.use(rules, settings.simulates_ips, settings.exceptions);
  const CaptureWorld world{rules, settings, events, inspector, reassembly};
  pcap_pkthdr* header = nullptr;
  while (const u_char* const bytes = capture.next(header)) {
    const std::uint64_t number = capture.count();
    ++counts.frames;
    if (header->caplen < header->len) ++counts.cut;
    const std::uint64_t now =
        static_cast<std::uint64_t>(header->ts.tv_sec) * kMicroseconds + static_cast<std::uint64_t>(header->ts.tv_usec);
    const std::span<const std::uint8_t> frame = link.to_ethernet({bytes, header->caplen});
    const FrameOutcome outcome = inspect(frame, {.now = now, .number = number}, world);
    ++(outcome.is_readable ? counts.inspected : counts.unreadable);
  }
  reassembly.flush();
  inspector.finish();
  const ids::VerifyCounters& exceeded = inspector.detector().verify_counters();
  const ids::StreamCounters& found = inspector.streams().counters;
  counts.flows += inspector.sessions();
  counts.bytes += found.bytes;
  counts.lost += found.lost;
  counts.refused += found.of(ids::StreamEvent::flow_limit) + found.of(ids::StreamEvent::memory_limit) +
                    found.of(ids::StreamEvent::too_many_segments);
  counts.steps_exceeded += exceeded.steps_exceeded + exceeded.packets_exceeded;
  counts.pcre_exceeded += exceeded.pcre_exceeded;
}

/// Returns the files of a folder and of its folders, in the order of their names.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// Inspects all files that are captures. Prints why another file is no capture.
void inspect_files(const std::vector<std::filesystem::path>& files, const ids::CompiledRules& rules,
                   const CaptureSettings& settings, CaptureReassembly& reassembly, EveFile& events,
                   CaptureCounts& counts) {
  for (const std::filesystem::path& file : files) {
    try {
      CaptureFile capture(file.string());
      events.name_capture(file.string());
      inspect(capture, rules, settings, reassembly, events, counts);
    } catch (const InputError& error) {
      fmt::print(stderr, "not inspected: {}\n", error.what());
    }
  }
}

void warn_of_skipped(const ids::CompiledRules& rules) {
  std::map<std::string, std::size_t> reasons;
  for (const auto& skipped : rules.not_evaluated()) ++reasons[skipped.reason];
  for (const auto& [reason, count] : reasons) fmt::print(stderr, "{} rules are not evaluated yet: {}\n", count, reason);
}

}  // namespace

void inspect_capture(const std::string& file, const ids::CompiledRules& rules, const CaptureSettings& settings,
                     const std::string& folder) {
  const bool is_folder = std::filesystem::is_directory(file);
  std::optional<CaptureFile> capture;
  std::vector<std::filesystem::path> files;
  if (is_folder) {
    files = files_of(file);
  } else {
    capture.emplace(file);
  }
  warn_of_skipped(rules);
  EveFile events(std::filesystem::path(folder) / "eve.json");
  // The captures of a folder are opened later. The threads of the reassembly's memory start without capabilities.
  const FileAccess access = is_folder ? FileAccess::read : FileAccess::none;
  drop_capabilities(access);
  CaptureReassembly reassembly(settings.reassembly, settings.streams.policies);
  confine(access);
  CaptureCounts counts;
  if (capture) {
    inspect(*capture, rules, settings, reassembly, events, counts);
  } else {
    inspect_files(files, rules, settings, reassembly, events, counts);
  }
  events.finish();
  std::string text = fmt::format(
      "{:>8}  rules evaluated\n{:>8}  frames\n{:>8}  packets inspected\n{:>8}  frames without readable IP\n",
      rules.rules().size(), counts.frames, counts.inspected, counts.unreadable);
  text += fmt::format("{:>8}  frames that the capture cut\n{:>8}  datagrams reassembled\n{:>8}  fragments not used\n",
                      counts.cut, reassembly.datagrams(), reassembly.unused());
  text += fmt::format("{:>8}  flows\n{:>8}  bytes of streams inspected\n", counts.flows, counts.bytes);
  text += fmt::format("{:>8}  bytes of streams lost\n{:>8}  segments refused by limits\n{:>8}  alerts\n", counts.lost,
                      counts.refused, events.alerts());
  text += fmt::format("{:>8}  verifications ended by the limit of steps\n{:>8}  by a limit of pcre\n",
                      counts.steps_exceeded, counts.pcre_exceeded);
  write_output(text);
}

}  // namespace penumbra::cli
