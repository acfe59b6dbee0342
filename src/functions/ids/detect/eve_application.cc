// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/eve_application.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

namespace penumbra::ids {
namespace {

using Json = nlohmann::ordered_json;

std::string members_of(const Json& object) {
  if (object.empty()) return "";
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

void add(Json& json, const char* name, std::string_view text) {
  if (!text.empty()) json[name] = std::string(text);
}

Json http_of(const HttpTransaction& transaction) {
  Json json = Json::object();
  add(json, "hostname", transaction.host);
  add(json, "url", transaction.raw_uri);
  add(json, "http_user_agent", transaction.request.value_of("user-agent"));
  std::string_view type = transaction.response.value_of("content-type");
  add(json, "http_content_type", type.substr(0, type.find(';')));
  add(json, "http_refer", transaction.request.value_of("referer"));
  add(json, "http_method", transaction.method);
  add(json, "protocol", transaction.protocol);
  if (transaction.status() != 0) json["status"] = transaction.status();
  add(json, "redirect", transaction.response.value_of("location"));
  json["length"] = transaction.response.body_bytes;
  return json;
}

Json records_of(const std::vector<DnsRecord>& records) {
  Json list = Json::array();
  for (const DnsRecord& record : records) {
    Json json{{"rrname", record.name}, {"rrtype", dns_type_name(record.type)}, {"ttl", record.ttl}};
    if (!record.data.empty()) json["rdata"] = record.data;
    list.push_back(std::move(json));
  }
  return list;
}

/// Suricata's time of flows, to the microsecond.
std::string time_of(std::uint64_t microseconds) {
  const auto seconds = static_cast<std::time_t>(microseconds / 1000000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+0000", fmt::gmtime(seconds), microseconds % 1000000);
}

const char* state_of(const FlowRecord& record, const TcpSession* tcp) {
  if (tcp != nullptr && tcp->state() == TcpSession::State::closed && !record.has_timed_out) return "closed";
  const bool both = record.packets[0] > 0 && record.packets[1] > 0;
  return (tcp != nullptr ? tcp->was_established() : both) ? "established" : "new";
}

}  // namespace

std::string alert_members(Application application, const HttpTransaction* http) {
  Json json = Json::object();
  if (application != Application::none) json["app_proto"] = std::string(to_string(application));
  if (http != nullptr) json["http"] = http_of(*http);
  return members_of(json);
}

std::string http_members(const HttpTransaction& transaction) {
  return members_of({{"tx_id", transaction.number}, {"http", http_of(transaction)}});
}

std::string dns_members(const DnsMessage& message) {
  const bool is_answer = message.is_response();
  Json json{{"version", 2}, {"type", is_answer ? "answer" : "query"}, {"id", message.id}};
  if (is_answer) {
    json["flags"] = fmt::format("{:x}", message.flags);
    json["qr"] = true;
    if ((message.flags & DnsMessage::kAuthoritative) != 0) json["aa"] = true;
    if ((message.flags & DnsMessage::kTruncated) != 0) json["tc"] = true;
    if ((message.flags & DnsMessage::kRecursionDesired) != 0) json["rd"] = true;
    if ((message.flags & DnsMessage::kRecursionAvailable) != 0) json["ra"] = true;
  }
  json["opcode"] = message.opcode();
  if (!message.questions.empty()) {
    json["rrname"] = message.questions[0].name;
    json["rrtype"] = dns_type_name(message.questions[0].type);
  }
  if (is_answer) {
    json["rcode"] = dns_response_name(message.response_code());
    if (!message.answers.empty()) json["answers"] = records_of(message.answers);
  }
  json["tx_id"] = message.transaction;
  return members_of({{"dns", std::move(json)}});
}

std::string tls_members(const TlsSession& session) {
  Json json = Json::object();
  if (session.has_certificate) {
    add(json, "subject", session.certificate.subject);
    add(json, "issuerdn", session.certificate.issuer);
    add(json, "serial", session.certificate.serial);
    add(json, "fingerprint", session.certificate.fingerprint);
  }
  add(json, "sni", session.sni);
  json["version"] = session.version_name();
  if (session.has_certificate) {
    add(json, "notbefore", session.certificate.not_before);
    add(json, "notafter", session.certificate.not_after);
  }
  if (!session.ja3.empty()) json["ja3"] = {{"hash", session.ja3_hash}, {"string", session.ja3}};
  if (!session.ja3s.empty()) json["ja3s"] = {{"hash", session.ja3s_hash}, {"string", session.ja3s}};
  return members_of({{"tls", std::move(json)}});
}

std::string flow_members(const StreamSession& session) {
  const FlowRecord& record = session.record;
  const TcpSession* const tcp = session.tcp ? &*session.tcp : nullptr;
  Json json = Json::object();
  if (session.application != Application::none) json["app_proto"] = std::string(to_string(session.application));
  json["flow"] = {{"pkts_toserver", record.packets[1]},
                  {"pkts_toclient", record.packets[0]},
                  {"bytes_toserver", record.bytes[1]},
                  {"bytes_toclient", record.bytes[0]},
                  {"start", time_of(record.first)},
                  {"end", time_of(record.last)},
                  {"age", record.last / 1000000 - record.first / 1000000},
                  {"state", state_of(record, tcp)},
                  {"reason", record.has_timed_out ? "timeout" : "shutdown"},
                  {"alerted", record.alerted}};
  if (session.flow->fate == TrackedFlow::Fate::drop) json["flow"]["action"] = "drop";
  if (session.flow->fate == TrackedFlow::Fate::pass) json["flow"]["action"] = "pass";
  if (tcp == nullptr) return members_of(json);
  const std::uint8_t flags = record.tcp_flags[0] | record.tcp_flags[1];
  json["tcp"] = {{"tcp_flags", fmt::format("{:02x}", flags)},
                 {"tcp_flags_ts", fmt::format("{:02x}", record.tcp_flags[1])},
                 {"tcp_flags_tc", fmt::format("{:02x}", record.tcp_flags[0])}};
  constexpr std::array<const char*, 8> kNames{"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if ((flags >> i & 1) != 0) json["tcp"][kNames[i]] = true;
  }
  return members_of(json);
}

std::string anomaly_members(std::string_view type, std::string_view event, Application application) {
  Json json = Json::object();
  json["anomaly"] = {{"type", std::string(type)}, {"event", std::string(event)}};
  if (application != Application::none) {
    json["anomaly"]["layer"] = "proto_parser";
    json["anomaly"]["app_proto"] = std::string(to_string(application));
  }
  return members_of(json);
}

}  // namespace penumbra::ids
