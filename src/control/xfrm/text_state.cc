// SPDX-License-Identifier: Apache-2.0
#include <linux/xfrm.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text_file.h"
#include "control/xfrm/algorithms.h"
#include "control/xfrm/refused.h"
#include "control/xfrm/text.h"
#include "control/xfrm/text_words.h"
#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 8> kFlags{{{"noecn", XFRM_STATE_NOECN},
                                                                           {"decap-dscp", XFRM_STATE_DECAP_DSCP},
                                                                           {"nopmtudisc", XFRM_STATE_NOPMTUDISC},
                                                                           {"wildrecv", XFRM_STATE_WILDRECV},
                                                                           {"icmp", XFRM_STATE_ICMP},
                                                                           {"af-unspec", XFRM_STATE_AF_UNSPEC},
                                                                           {"align4", XFRM_STATE_ALIGN4},
                                                                           {"esn", XFRM_STATE_ESN}}};
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 2> kExtraFlags{
    {{"dont-encap-dscp", XFRM_SA_XFLAG_DONT_ENCAP_DSCP}, {"oseq-may-wrap", XFRM_SA_XFLAG_OSEQ_MAY_WRAP}}};

/// Parses one SA.
class StateParser {
 public:
  StateParser(Record& record, KeyStore& keys, std::uint64_t now) : record_(record) {
    sa_.keys = keys.allocate();
    sa_.usage.add_time = now;
  }
  Sa parse();

 private:
  using Action = void (StateParser::*)();
  static const std::map<std::string_view, Action>& actions();

  void source() { sa_.settings.source = record_.address(sa_.settings.id.family); }
  void destination() { sa_.settings.id.destination = record_.address(sa_.settings.id.family); }
  void protocol() {
    sa_.settings.id.protocol = parse_protocol(record_);
    if (sa_.settings.id.protocol != kProtocolEsp) throw record_.error("the only protocol is esp");
  }
  void spi() { sa_.settings.id.spi = static_cast<std::uint32_t>(record_.number("an SPI")); }
  void mode() {
    sa_.settings.mode = parse_mode(record_);
    const bool known = sa_.settings.mode == Mode::transport || sa_.settings.mode == Mode::tunnel;
    if (!known) throw record_.error("the modes are transport and tunnel");
  }
  void request() { sa_.settings.request = static_cast<std::uint32_t>(record_.number("a reqid")); }
  void sequence() { sa_.settings.sequence = static_cast<std::uint32_t>(record_.number("a number")); }
  void window() {
    sa_.settings.replay_window = static_cast<std::uint32_t>(record_.number("a window", kMostReplayWindow));
  }
  void low(std::uint64_t& number) { number = (number & ~0xFFFFFFFFULL) | record_.number("a sequence number"); }
  void high(std::uint64_t& number) { number = (number & 0xFFFFFFFFULL) | record_.number("a sequence number") << 32U; }
  void low_in() { low(sa_.replay.in); }
  void low_out() { low(sa_.replay.out); }
  void high_in() { high(sa_.replay.in); }
  void high_out() { high(sa_.replay.out); }
  void flags();
  void extra_flags();
  void selector();
  void limit();
  void encapsulation();
  void care_of() {
    std::uint16_t family = sa_.settings.id.family;
    sa_.settings.care_of = record_.address(family);
  }
  void mark() { sa_.settings.mark = record_.mark(); }
  void output_mark() { sa_.settings.output_mark = record_.mark(); }
  void interface_id() { sa_.settings.interface_id = static_cast<std::uint32_t>(record_.number("an if_id")); }
  void padding() {
    constexpr std::uint64_t kMostBytes = 0xFFFF;
    sa_.settings.tfc_padding = static_cast<std::uint32_t>(record_.number("a number of bytes", kMostBytes));
  }
  void aead() { algorithm(sa_.settings.algorithms.aead, AlgorithmKind::aead, true); }
  void cipher() { algorithm(sa_.settings.algorithms.cipher, AlgorithmKind::cipher, false); }
  void digest() { algorithm(sa_.settings.algorithms.digest, AlgorithmKind::digest, false); }
  void truncated_digest() { algorithm(sa_.settings.algorithms.digest, AlgorithmKind::digest, true); }
  void algorithm(std::optional<Algorithm>& to, AlgorithmKind kind, bool has_tag);
  void replay_context();
  /// Newer versions of `ip` print it. The policies say the direction here.
  void direction() {
    if (!record_.take_if("in") && !record_.take_if("out")) throw record_.error("expected 'in' or 'out' after this");
  }
  void finish();

  Record& record_;
  Sa sa_;
};

const std::map<std::string_view, StateParser::Action>& StateParser::actions() {
  static const std::map<std::string_view, Action> kActions{{"src", &StateParser::source},
                                                           {"dst", &StateParser::destination},
                                                           {"proto", &StateParser::protocol},
                                                           {"spi", &StateParser::spi},
                                                           {"mode", &StateParser::mode},
                                                           {"reqid", &StateParser::request},
                                                           {"seq", &StateParser::sequence},
                                                           {"replay-window", &StateParser::window},
                                                           {"replay-seq", &StateParser::low_in},
                                                           {"replay-oseq", &StateParser::low_out},
                                                           {"replay-seq-hi", &StateParser::high_in},
                                                           {"replay-oseq-hi", &StateParser::high_out},
                                                           {"flag", &StateParser::flags},
                                                           {"extra_flag", &StateParser::extra_flags},
                                                           {"extra-flag", &StateParser::extra_flags},
                                                           {"sel", &StateParser::selector},
                                                           {"limit", &StateParser::limit},
                                                           {"limit:", &StateParser::limit},
                                                           {"expire", &StateParser::limit},
                                                           {"encap", &StateParser::encapsulation},
                                                           {"coa", &StateParser::care_of},
                                                           {"mark", &StateParser::mark},
                                                           {"output-mark", &StateParser::output_mark},
                                                           {"if_id", &StateParser::interface_id},
                                                           {"tfcpad", &StateParser::padding},
                                                           {"aead", &StateParser::aead},
                                                           {"enc", &StateParser::cipher},
                                                           {"auth", &StateParser::digest},
                                                           {"auth-trunc", &StateParser::truncated_digest},
                                                           {"anti-replay", &StateParser::replay_context},
                                                           {"dir", &StateParser::direction}};
  return kActions;
}

Sa StateParser::parse() {
  constexpr std::array<std::string_view, 3> kRepeated{"limit", "limit:", "expire"};
  OnceWords once;
  while (!record_.at_end()) {
    const auto action = actions().find(record_.take("a word"));
    if (action == actions().end()) {
      std::vector<std::string> words;
      for (const auto& [word, ignored] : actions()) words.emplace_back(word);
      throw record_.unexpected("more of the SA", words);
    }
    if (std::ranges::find(kRepeated, action->first) == kRepeated.end()) once.add(record_, action->first);
    (this->*action->second)();
  }
  finish();
  return std::move(sa_);
}

template <class Table, class Number>
bool take_flag(Record& record, const Table& table, Number& flags) {
  for (const auto& [name, bit] : table) {
    if (!record.take_if(name)) continue;
    flags = static_cast<Number>(flags | bit);
    return true;
  }
  return false;
}

/// Takes the words after `flag` or `extra_flag`, and the number that `ip -s` prints after them.
template <class Table, class Number>
void take_flags(Record& record, const Table& table, Number& flags) {
  bool has_any = false;
  while (take_flag(record, table, flags)) has_any = true;
  if (record.peek().starts_with("(0x")) {
    record.take("flags");
  } else if (!has_any) {
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const auto& [name, bit] : table) names.emplace_back(name);
    record.take("a flag");
    throw record.unexpected("a flag", names);
  }
}

void StateParser::flags() {
  take_flags(record_, kFlags, sa_.settings.flags);
}

void StateParser::extra_flags() {
  take_flags(record_, kExtraFlags, sa_.settings.extra_flags);
}

void StateParser::selector() {
  constexpr std::array<std::string_view, 9> kWords{"src",  "dst",  "dev", "sport", "dport",
                                                   "type", "code", "uid", "proto"};
  if (std::ranges::find(kWords, record_.peek()) == kWords.end()) throw record_.error("expected a selector after this");
  while (std::ranges::find(kWords, record_.peek()) != kWords.end()) {
    parse_selector_word(record_, record_.take("a selector"), sa_.settings.selector);
  }
}

void StateParser::limit() {
  record_.back();
  parse_limit_word(record_, record_.take("a limit"), sa_.settings.limits);
}

void StateParser::encapsulation() {
  record_.take_if("type");
  if (!record_.take_if("espinudp")) throw record_.error("the only encapsulation is espinudp");
  Encapsulation encapsulation{.type = 2, .source_port = 0, .destination_port = 0, .original = {}};
  constexpr std::uint64_t kMostPort = 0xFFFF;
  const auto port = [&](std::string_view word) {
    record_.take_if(word);
    const std::uint64_t number = record_.number("a port", kMostPort);
    if (number == 0) throw record_.error("a port of UDP is not 0; the usual one is 4500");
    return static_cast<std::uint16_t>(number);
  };
  encapsulation.source_port = port("sport");
  encapsulation.destination_port = port("dport");
  record_.take_if("addr");
  std::uint16_t family = 0;
  encapsulation.original = record_.address(family);
  sa_.settings.encapsulation = encapsulation;
}

void StateParser::algorithm(std::optional<Algorithm>& to, AlgorithmKind kind, bool has_tag) {
  if (to) throw record_.error("the SA has two algorithms of this kind");
  to = Algorithm{.name = std::string(record_.algorithm()), .key_bits = 0, .tag_bits = 0};
  const auto key = kind == AlgorithmKind::digest ? std::span<std::uint8_t>(sa_.keys->digest)
                                                 : std::span<std::uint8_t>(sa_.keys->cipher);
  to->key_bits = record_.key(key);
  // The next word may be a key in another form, which no message may quote. Only the null cipher has no key.
  if (to->key_bits == 0 && kind != AlgorithmKind::cipher) {
    throw record_.error("expected a key after this: 0x and hexadecimal digits");
  }
  if (has_tag) to->tag_bits = static_cast<std::uint32_t>(record_.number("the bits of an ICV"));
  try {
    complete(*to, kind, has_tag);
  } catch (const Refused& refused) {
    throw record_.error(refused.what());
  }
}

/// Parses "context: seq 0x0, oseq 0x0, bitmap 0x00000000", or the words of an extended context.
void StateParser::replay_context() {
  const bool is_extended = record_.take_if("esn");
  if (!record_.take_if("context:")) throw record_.error("expected 'context:' after this");
  const auto value = [&](std::string_view word) {
    if (!record_.take_if(word)) throw record_.error("expected " + quote(word) + " after this");
    return record_.number("a number");
  };
  if (!is_extended) {
    sa_.replay.in = value("seq");
    sa_.replay.out = value("oseq");
    sa_.replay.bitmap = {static_cast<std::uint32_t>(value("bitmap"))};
    return;
  }
  sa_.settings.has_extended_replay = true;
  const std::uint64_t in_high = value("seq-hi"), in_low = value("seq"), out_high = value("oseq-hi"),
                      out_low = value("oseq");
  sa_.replay.in = in_high << 32U | in_low;
  sa_.replay.out = out_high << 32U | out_low;
  sa_.settings.replay_window = static_cast<std::uint32_t>(value("replay_window"));
  const std::uint64_t words = value("bitmap-length");
  if (words > kMostReplayWindow / 32) throw record_.error("a replay window has at most 4096 packets");
  for (std::uint64_t i = 0; i < words; ++i) sa_.replay.bitmap.push_back(record_.hexadecimal());
}

void StateParser::finish() {
  SaSettings& settings = sa_.settings;
  if (settings.id.family == 0) throw record_.error("'src ADDRESS dst ADDRESS' is missing");
  if (settings.id.protocol == 0) throw record_.error("'proto esp' is missing");
  if (settings.id.spi == 0) throw record_.error("'spi NUMBER' is missing, or 0");
  try {
    check_together(settings.algorithms);
  } catch (const Refused& refused) {
    throw record_.error(refused.what());
  }
  if (settings.selector.family == 0 && (settings.flags & XFRM_STATE_AF_UNSPEC) == 0) {
    settings.selector.family = settings.id.family;
  }
  constexpr std::uint32_t kWordBits = 32;
  if (settings.replay_window > kWordBits || (settings.flags & XFRM_STATE_ESN) != 0) settings.has_extended_replay = true;
  if (!settings.has_extended_replay) return;
  if (settings.replay_window == 0 && (settings.flags & XFRM_STATE_ESN) != 0) {
    throw record_.error("the flag esn needs 'replay-window NUMBER'");
  }
  const std::size_t words = (settings.replay_window + kWordBits - 1) / kWordBits;
  if (sa_.replay.bitmap.size() < words) sa_.replay.bitmap.resize(words);
}

}  // namespace

std::vector<Sa> parse_states(std::string_view text, const std::string& name, KeyStore& keys, std::uint64_t now) {
  std::vector<Sa> states;
  RecordReader reader(text, name, "state");
  for (Record record; reader.next(record);) states.push_back(StateParser(record, keys, now).parse());
  return states;
}

std::vector<Sa> read_states(const std::filesystem::path& file, KeyStore& keys, std::uint64_t now) {
  std::string text = read_text_file(file);
  struct Erase {
    ~Erase() { erase_bytes(text.data(), text.size()); }
    std::string& text;
  } const erase{text};
  return parse_states(text, file.string(), keys, now);
}

}  // namespace penumbra::control::xfrm
