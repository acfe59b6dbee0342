// SPDX-License-Identifier: Apache-2.0
//
// Reads the HTTP of captures, and of seeds of the fuzzer, with HttpParser and with libhtp, and compares the
// transactions. For tests/test_ids_http.py.
//   http_oracle FILE...
// Prints a line for each field that differs: the file, the field, and both values in JSON. Prints the number of
// transactions at the end.
#include <fmt/format.h>
#include <htp/htp.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "functions/ids/applications/application_testing.h"
#include "functions/ids/applications/http_parser.h"
#include "functions/ids/applications/recognition.h"
#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/rules/words.h"
#include "functions/ids/streams/tcp_session.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// The fields of a transaction that both parsers give, by name.
using Fields = std::map<std::string, std::string>;

class Ours : public ApplicationRecorder {
 public:
  void read(bool to_server, Bytes bytes) { parser_.read(to_server, bytes, *this); }
  void lose(bool to_server, std::uint64_t bytes) { parser_.lose(to_server, bytes, *this); }
  void end() {
    for (const bool to_server : {true, false}) parser_.end(to_server, *this);
  }
  void on_http(const HttpTransaction& transaction) override {
    found.push_back({{"method", transaction.method},
                     {"uri", transaction.uri},
                     {"host", transaction.host},
                     {"status", std::to_string(transaction.status())},
                     {"request_body", std::to_string(transaction.request.body_bytes)},
                     {"response_body", std::to_string(transaction.response.body_bytes)}});
  }

  std::vector<Fields> found;

 private:
  HttpParser parser_;
};

std::string text_of(const bstr* text) {
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(bstr_ptr(text)), bstr_len(text));
}

/// libhtp, set up as Suricata does by default.
class Theirs {
 public:
  Theirs() : settings_(htp_config_create()) {
    htp_config_set_server_personality(settings_, HTP_SERVER_IDS);
    htp_config_set_response_decompression(settings_, 0);
    for (const auto part : {HTP_DECODER_URL_PATH, HTP_DECODER_URLENCODED}) {
      htp_config_set_u_encoding_decode(settings_, part, 1);
      htp_config_set_plusspace_decode(settings_, part, 0);
    }
    htp_config_set_convert_lowercase(settings_, HTP_DECODER_URL_PATH, 0);
    htp_config_set_backslash_convert_slashes(settings_, HTP_DECODER_URL_PATH, 1);
    htp_config_set_path_separators_compress(settings_, HTP_DECODER_URL_PATH, 1);
    htp_config_set_path_separators_decode(settings_, HTP_DECODER_URL_PATH, 1);
    parser_ = htp_connp_create(settings_);
    htp_connp_open(parser_, "192.0.2.1", 1000, "192.0.2.2", 80, nullptr);
  }
  ~Theirs() {
    htp_connp_destroy_all(parser_);
    htp_config_destroy(settings_);
  }
  Theirs(const Theirs&) = delete;
  Theirs& operator=(const Theirs&) = delete;

  void read(bool to_server, Bytes bytes) {
    if (bytes.empty()) return;
    if (to_server) {
      htp_connp_req_data(parser_, nullptr, bytes.data(), bytes.size());
    } else {
      htp_connp_res_data(parser_, nullptr, bytes.data(), bytes.size());
    }
  }
  void lose(bool to_server, std::uint64_t bytes) {
    if (to_server) {
      htp_connp_req_data(parser_, nullptr, nullptr, bytes);
    } else {
      htp_connp_res_data(parser_, nullptr, nullptr, bytes);
    }
  }
  std::vector<Fields> end() {
    htp_connp_close(parser_, nullptr);
    std::vector<Fields> found;
    const htp_list_t* const list = htp_connp_get_connection(parser_)->transactions;
    for (std::size_t i = 0; i < htp_list_size(list); ++i) {
      const auto* const transaction = static_cast<const htp_tx_t*>(htp_list_get(list, i));
      if (transaction != nullptr && transaction->request_progress > HTP_REQUEST_LINE) {
        found.push_back(fields_of(*transaction));
      }
    }
    return found;
  }

 private:
  Fields fields_of(const htp_tx_t& transaction) const {
    // libhtp makes up a request for a response without one.
    const bool has_request = transaction.request_line != nullptr;
    std::string uri;
    if (const htp_uri_t* const parsed = transaction.parsed_uri; parsed != nullptr && has_request) {
      uri = text_of(parsed->path);
      if (parsed->query != nullptr) {
        bstr* const query = bstr_dup(parsed->query);
        std::uint64_t flags = 0;
        htp_urldecode_inplace(settings_, HTP_DECODER_URLENCODED, query, &flags);
        uri += "?" + text_of(query);
        bstr_free(query);
      }
    }
    return {{"method", text_of(transaction.request_method)},
            {"uri", uri},
            {"host", lower(text_of(transaction.request_hostname))},
            {"status", std::to_string(std::max(transaction.response_status_number, 0))},
            {"request_body", std::to_string(transaction.request_entity_len)},
            {"response_body", std::to_string(transaction.response_entity_len)}};
  }

  htp_cfg_t* settings_;
  htp_connp_t* parser_ = nullptr;
};

struct Totals {
  std::size_t transactions = 0;

  /// Lengths of bodies are not compared if bytes were lost, which only libhtp counts.
  void compare(const std::string& file, const std::vector<Fields>& ours, const std::vector<Fields>& theirs,
               bool has_lost = false) {
    transactions += std::max(ours.size(), theirs.size());
    const auto print = [&file](const std::string& field, const std::string& mine, const std::string& other) {
      const nlohmann::json line{{"file", file}, {"field", field}, {"ours", mine}, {"libhtp", other}};
      fmt::print("{}\n", line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    };
    if (ours.size() != theirs.size()) {
      return print("transactions", std::to_string(ours.size()), std::to_string(theirs.size()));
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      for (const auto& [field, mine] : ours[i]) {
        if (has_lost && field.ends_with("_body")) continue;
        if (const std::string& other = theirs[i].at(field); mine != other) print(field, mine, other);
      }
    }
  }
};

/// A connection. What both directions say is kept until the protocol is recognized.
class Flow : public StreamConsumer {
 public:
  explicit Flow(std::uint16_t port) : port_(port) {}

  void on_text(bool to_server, const StreamText& text) override {
    const Bytes fresh = text.fresh_bytes();
    if (!is_http_) {
      std::string& early = early_[to_server ? 1 : 0];
      early.append(reinterpret_cast<const char*>(fresh.data()), fresh.size());
      is_http_ = recognize_stream(to_server, as_bytes(early), port_).application == Application::http;
      if (!is_http_) return;
      for (const bool direction : {true, false}) hand_on(direction, as_bytes(early_[direction ? 1 : 0]));
      return;
    }
    hand_on(to_server, fresh);
  }
  void on_gap(bool to_server, std::uint64_t bytes) override {
    has_lost_ = true;
    if (!is_http_) return;
    ours_.lose(to_server, bytes);
    theirs_.lose(to_server, bytes);
  }
  void on_end(bool /*to_server*/) override {}
  void on_event(bool /*to_server*/, StreamEvent /*event*/) override {}

  void finish(const std::string& file, StreamContext& context, Totals& totals) {
    session.finish(context, *this);
    if (!is_http_) return;
    ours_.end();
    totals.compare(file, ours_.found, theirs_.end(), has_lost_);
  }

  TcpSession session;

 private:
  void hand_on(bool to_server, Bytes bytes) {
    ours_.read(to_server, bytes);
    theirs_.read(to_server, bytes);
  }

  std::uint16_t port_;
  bool is_http_ = false, has_lost_ = false;
  std::array<std::string, 2> early_;
  Ours ours_;
  Theirs theirs_;
};

/// The connections of a capture.
class Capture {
 public:
  Capture(std::string file, Totals& totals) : file_(std::move(file)), totals_(totals) {}

  void add(Bytes frame) {
    const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
    const PacketView packet(frame, headers);
    if (!packet.is_readable() || !packet.is_tcp() || headers.payload < headers.transport + 20U) return;
    const bool is_v6 = packet.is_ipv6();
    const End source{packet.source().words(is_v6), headers.source_port};
    const End destination{packet.destination().words(is_v6), headers.destination_port};
    const auto header = frame.subspan(headers.transport, headers.payload - headers.transport);
    const TcpSegment segment = read_tcp_segment(header, packet.payload());
    const auto known = flows_.find({destination, source});
    const bool to_server = known == flows_.end();
    const auto key = to_server ? std::pair(source, destination) : std::pair(destination, source);
    if (const auto old = flows_.find(key);
        old != flows_.end() && old->second->session.is_replaced_by(segment, to_server)) {
      old->second->finish(file_, context_, totals_);
      flows_.erase(old);
    }
    std::unique_ptr<Flow>& flow = flows_[key];
    if (flow == nullptr) flow = std::make_unique<Flow>(key.second.second);
    flow->session.add(segment, to_server, context_, *flow);
  }
  void finish() {
    for (auto& [key, flow] : flows_) flow->finish(file_, context_, totals_);
  }

 private:
  using End = std::pair<std::array<std::uint64_t, 2>, std::uint16_t>;
  std::string file_;
  Totals& totals_;
  StreamContext context_{StreamOptions{.depth = {0, 0}}};
  std::map<std::pair<End, End>, std::unique_ptr<Flow>> flows_;
};

/// Reads a seed as the fuzzer of applications does.
void read_seed(const std::string& file, Totals& totals) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const Bytes data = as_bytes(text);
  Ours ours;
  Theirs theirs;
  for (std::size_t at = 1; at < data.size();) {
    const std::uint8_t head = data[at++];
    const Bytes piece = data.subspan(at, std::min<std::size_t>(std::size_t{4} * (head >> 1), data.size() - at));
    ours.read((head & 1) != 0, piece);
    theirs.read((head & 1) != 0, piece);
    at += piece.size();
  }
  ours.end();
  totals.compare(file, ours.found, theirs.end());
}

void read_file(const std::string& file, Totals& totals) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  pcap_t* const opened = pcap_open_offline(file.c_str(), reason.data());
  if (opened == nullptr) return read_seed(file, totals);
  if (auto link = LinkLayer::find(pcap_datalink(opened))) {
    Capture capture(file, totals);
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    while (pcap_next_ex(opened, &header, &bytes) == 1) capture.add(link->to_ethernet({bytes, header->caplen}));
    capture.finish();
  }
  pcap_close(opened);
}

}  // namespace
}  // namespace penumbra::ids

int main(int count, char** arguments) {
  penumbra::ids::Totals totals;
  for (int i = 1; i < count; ++i) penumbra::ids::read_file(arguments[i], totals);
  fmt::print("{}\n", totals.transactions);
  return 0;
}
