// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/ssh_parser.h"

#include <algorithm>
#include <string_view>

namespace penumbra::ids {

void SshParser::read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  if (side.done) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t end = text.find('\n');
  side.line.append(text.substr(0, std::min(end, kMostLine - side.line.size())));
  if (end == std::string_view::npos && side.line.size() < kMostLine) return;
  side.done = true;
  // "SSH-2.0-OpenSSH_9.2 comment"
  constexpr std::string_view kBegin = "SSH-";
  std::string_view line = side.line;
  line = line.substr(0, line.find_last_not_of('\r') + 1);
  if (!line.starts_with(kBegin)) return;
  line.remove_prefix(kBegin.size());
  const std::size_t dash = line.find('-');
  if (dash == std::string_view::npos) return;
  const std::string_view software = line.substr(dash + 1).substr(0, line.substr(dash + 1).find(' '));
  const auto set = [&](Buffer buffer, std::string_view part) {
    buffers_.set(buffer, {reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
  };
  buffers_.clear();
  set(Buffer::ssh_protocol, line.substr(0, dash));
  set(Buffer::ssh_software, software);
  consumer.on_message({Application::ssh, to_server, 0, buffers_});
}

void SshParser::lose(bool to_server, std::uint64_t /*bytes*/, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  if (side.done) return;
  side.done = true;
  consumer.on_application_event(to_server, ApplicationEvent::lost_bytes);
}

void SshParser::end(bool to_server, ApplicationConsumer& /*consumer*/) {
  sides_[to_server ? 1 : 0].done = true;
}

std::size_t SshParser::memory() const {
  return sizeof(*this) + sides_[0].line.capacity() + sides_[1].line.capacity();
}

}  // namespace penumbra::ids
