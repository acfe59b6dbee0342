// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "functions/ids/rules/builder.h"

namespace penumbra::ids {
namespace {

/// Keywords of Suricata's manual that this program does not take yet.
constexpr std::array kUnsupported = std::to_array<std::string_view>({"app-layer-event",
                                                                     "app-layer-protocol",
                                                                     "base64_data",
                                                                     "base64_decode",
                                                                     "bypass",
                                                                     "cip_service",
                                                                     "config",
                                                                     "dataset",
                                                                     "datarep",
                                                                     "dce_iface",
                                                                     "dce_opnum",
                                                                     "dce_stub_data",
                                                                     "decode-event",
                                                                     "dhcp.leasetime",
                                                                     "dnp3_func",
                                                                     "dns.opcode",
                                                                     "dns.rcode",
                                                                     "dns.rrtype",
                                                                     "dotprefix",
                                                                     "enip_command",
                                                                     "engine-event",
                                                                     "entropy",
                                                                     "file.magic",
                                                                     "filemagic",
                                                                     "filemd5",
                                                                     "filename",
                                                                     "filesha1",
                                                                     "filesha256",
                                                                     "filesize",
                                                                     "filestore",
                                                                     "fileext",
                                                                     "flow.age",
                                                                     "flow.bytes_toclient",
                                                                     "flow.bytes_toserver",
                                                                     "flow.pkts_toclient",
                                                                     "flow.pkts_toserver",
                                                                     "flowint",
                                                                     "frame",
                                                                     "ftp.command",
                                                                     "ftpdata_command",
                                                                     "geoip",
                                                                     "header_lowercase",
                                                                     "http.request_body_len",
                                                                     "http2.errorcode",
                                                                     "http2.frametype",
                                                                     "icmpv6.mtu",
                                                                     "iprep",
                                                                     "ja4.hash",
                                                                     "krb5_cname",
                                                                     "krb5_err_code",
                                                                     "krb5_msg_type",
                                                                     "krb5_sname",
                                                                     "l3_proto",
                                                                     "lua",
                                                                     "luajit",
                                                                     "luaxform",
                                                                     "modbus",
                                                                     "mqtt.type",
                                                                     "nfs_procedure",
                                                                     "pcrexform",
                                                                     "replace",
                                                                     "requires",
                                                                     "rfb.name",
                                                                     "rpc",
                                                                     "sip.method",
                                                                     "sip.uri",
                                                                     "snmp.community",
                                                                     "ssh.hassh",
                                                                     "stream-event",
                                                                     "strip_pseudo_headers",
                                                                     "strip_whitespace",
                                                                     "compress_whitespace",
                                                                     "tcp.mss",
                                                                     "tls.random",
                                                                     "tls.store",
                                                                     "tls_cert_expired",
                                                                     "tls_cert_notafter",
                                                                     "tls_cert_notbefore",
                                                                     "tls_cert_valid",
                                                                     "to_lowercase",
                                                                     "to_md5",
                                                                     "to_sha1",
                                                                     "to_sha256",
                                                                     "to_uppercase",
                                                                     "url_decode",
                                                                     "vlan.id",
                                                                     "xor"});

struct Keywords {
  std::unordered_map<std::string_view, const Keyword*> plain;
  std::unordered_map<std::string_view, const BufferInfo*> sticky, modifiers;
  std::vector<std::string> names;

  Keywords() {
    for (const auto& group : {rule_keywords(), header_keywords(), content_keywords(), pcre_keywords(),
                              number_keywords(), session_keywords(), application_keywords()}) {
      for (const Keyword& keyword : group) plain.emplace(keyword.name, &keyword);
    }
    for (const BufferInfo& buffer : buffers()) {
      if (!buffer.name.empty()) sticky.emplace(buffer.name, &buffer);
      if (!buffer.old_name.empty()) sticky.emplace(buffer.old_name, &buffer);
      if (!buffer.modifier.empty()) modifiers.emplace(buffer.modifier, &buffer);
    }
    const auto add = [this](const auto& table) {
      for (const auto& entry : table) names.emplace_back(entry.first);
    };
    add(plain);
    add(sticky);
    add(modifiers);
    std::ranges::sort(names);
  }
};

const Keywords& keywords() {
  static const Keywords kAll;
  return kAll;
}

void check_value(const RuleBuilder& rule, const Option& option, Keyword::Value wanted) {
  if (wanted == Keyword::Value::none && option.has_value && !option.value.empty()) {
    throw rule.wrong(option, option.value, "follows a keyword without a value");
  }
  if (wanted == Keyword::Value::required && option.value.empty()) {
    throw rule.source.error(option.name, "keyword without its value");
  }
}

void move_content(RuleBuilder& rule, const Option& option, const BufferInfo& info) {
  PlacedTest& content = rule.last_content_place(option);
  if (content.buffer != rule.sticky.value_or(Buffer::payload)) {
    throw rule.source.error(option.name, "content has two buffers");
  }
  rule.require(info.application, option);
  content.buffer = info.buffer;
}

}  // namespace

void read_option(RuleBuilder& rule, const Option& option) {
  const Keywords& all = keywords();
  if (const auto found = all.plain.find(option.name); found != all.plain.end()) {
    check_value(rule, option, found->second->value);
    found->second->read(rule, option);
    return;
  }
  if (const auto found = all.sticky.find(option.name); found != all.sticky.end()) {
    check_value(rule, option, Keyword::Value::none);
    rule.require(found->second->application, option);
    rule.sticky = found->second->buffer;
    if (*rule.sticky == Buffer::payload) rule.sticky.reset();
    return;
  }
  if (const auto found = all.modifiers.find(option.name); found != all.modifiers.end()) {
    check_value(rule, option, Keyword::Value::none);
    move_content(rule, option, *found->second);
    return;
  }
  if (std::ranges::find(kUnsupported, option.name) != kUnsupported.end()) {
    throw rule.source.error(option.name, "keyword is not supported yet");
  }
  const std::string hint = did_you_mean(std::string(option.name), all.names);
  throw rule.source.error(option.name, "unknown keyword", hint.empty() ? "" : ": " + hint);
}

const std::vector<std::string>& keyword_names() {
  return keywords().names;
}

}  // namespace penumbra::ids
