// SPDX-License-Identifier: Apache-2.0
//
// An access list drops the packets that it denies. Later functions handle all other packets. See docs/functions/acl.md.
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/row_limit.h"
#include "functions/acl/commands.h"
#include "functions/acl/settings.h"
#include "functions/rule_list/list.h"
#include "functions/rule_list/show.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/errors.h"
#include "penumbra/lookup_function.h"
#include "tables/flows/flow_packet.h"

namespace penumbra::acl {
namespace {

enum : std::uint16_t { kDenied, kDeniedByDefault, kMalformed, kUnparsable, kFragment };

/// Holds the columns of one chunk.
struct Columns {
  std::array<rules_key, Chunk::kCapacity> wide;
  std::array<rules_narrow_key, Chunk::kCapacity> narrow;
  std::array<std::uint32_t, Chunk::kCapacity> numbers;
  std::array<std::uint32_t, Chunk::kCapacity> bytes;
};

class Acl final : public LookupFunction {
 public:
  Acl(Settings settings, const FunctionContext& context)
      : family_(settings.family),
        parsing_(settings.parsing),
        structure_(std::move(settings.structure)),
        warnings_(std::move(settings.warnings)),
        list_(std::make_unique<rule_list::TableRules>(fields_of(family_), structure_.name(), std::random_device{}(),
                                                      context.grace_periods),
              context.workers) {
    put_in_force(std::move(settings.entries));
    saved_ = own_entries();
  }

  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons{
        {"denied", Verdict::Kind::drop, "an entry of the list denies it"},
        {"denied_by_default", Verdict::Kind::drop, "no entry of the list matches it, and the default is to deny"},
        {"malformed", Verdict::Kind::drop, "an IP header that is wrong or not all there: nobody can say what it is"},
        {"unparsable", Verdict::Kind::drop,
         "its protocol or ports cannot be read: too many IPv6 extension headers, a transport header that is not all "
         "there, or a fragment within that header"},
        {"fragment", Verdict::Kind::drop, "a fragment, and the configuration drops fragments"}};
    return kReasons;
  }
  std::string shader() const override { return list_.shader(); }
  Table* table() override { return &list_.table(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  void bind(std::span<const PortInfo> /*ports*/) override {}
  void prepare(std::uint16_t worker) noexcept override { list_.prepare(worker); }

  void pre_shade(Chunk& chunk) noexcept override {
    auto& columns = *chunk.columns.take<Columns>(1);
    const bool narrow = family_ == Family::ipv4;
    const Parsing parsing = parsing_.load(std::memory_order_relaxed);
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      rte_mbuf* const packet = chunk.packets[i];
      const PacketHeaders& headers = headers_of(*packet);
      flow_key flow;
      FilterPart part;
      const FlowFrame what = read_for_filter(headers, rte_pktmbuf_mtod(packet, const std::uint8_t*),
                                             parsing.extension_headers, flow, columns.bytes[items], part);
      if (what == FlowFrame::malformed) chunk.verdicts[i] = drop(kMalformed);
      if (what == FlowFrame::unparsable) chunk.verdicts[i] = drop(kUnparsable);
      if (what != FlowFrame::flow || !is_decided_on(flow)) continue;
      if (part.is_fragment && parsing.drops_fragments) {
        chunk.verdicts[i] = drop(kFragment);
        continue;
      }
      if (narrow) {
        columns.narrow[items] = narrow_key(flow, part);
      } else {
        columns.wide[items] = wide_key(flow, part);
      }
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
    chunk.batch.items = items;
    chunk.batch.inputs[0] = narrow ? static_cast<const void*>(columns.narrow.data()) : columns.wide.data();
    chunk.batch.outputs[0] = columns.numbers.data();
    chunk.stage_scratch = &columns;
  }

  void post_shade(Chunk& chunk) noexcept override {
    const auto& columns = *static_cast<const Columns*>(chunk.stage_scratch);
    const std::uint64_t now = steady_ms();
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      const std::uint32_t number = columns.numbers[item];
      if (!chunk.is_dry_run) list_.count(chunk.worker, number, columns.bytes[item], now);
      if (permits_[number] != 0) continue;
      chunk.verdicts[chunk.packet_of_item[item]] = drop(list_.line(number) == 0 ? kDeniedByDefault : kDenied);
    }
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const auto& other = dynamic_cast<const Acl&>(next);
    if (other.family_ != family_) throw config.get("family").error("another family takes a restart");
    structure_.require_same(other.structure_, config);
    const rule_list::Changes changes = rule_list::compare<Entry>(list_.entries(), other.list_.entries());
    std::vector<std::string> lines;
    if (changes.added != 0) lines.push_back(fmt::format("entries added: {}", changes.added));
    if (changes.removed != 0) lines.push_back(fmt::format("entries removed: {}", changes.removed));
    const Parsing now = parsing_.load(), then = other.parsing_.load();
    if (then.drops_fragments != now.drops_fragments) {
      lines.emplace_back(then.drops_fragments ? "fragments are dropped" : "fragments are decided on by the entries");
    }
    if (then.extension_headers != now.extension_headers) {
      lines.push_back(
          fmt::format("extension headers: {} at the most, was {}", then.extension_headers, now.extension_headers));
    }
    return lines;
  }
  /// Activates the list of `next` in this function. The list of `next` does not need to become active, because no
  /// packets go through `next`.
  void exchange(Function& next) override {
    auto& other = dynamic_cast<Acl&>(next);
    other.parsing_ = parsing_.exchange(other.parsing_);
    std::vector<Entry> before = list_.entries();
    put_in_force(other.list_.entries());
    other.list_.replace(std::move(before), [](std::uint32_t, const Entry&) {});
    std::swap(saved_, other.saved_);
  }
  std::unique_ptr<Change> prepare(std::string_view /*command*/, std::string_view action,
                                  const CommandEntries& entries) override {
    std::vector<Entry> before = own_entries();
    auto after = edit(before, action, entries, family_);
    const auto put = [this](std::vector<Entry> list) {
      list.push_back(list_.entries().back());  // the default
      put_in_force(std::move(list));
    };
    return make_replacement(std::move(before), std::move(after.entries), after.counts, put);
  }
  std::vector<ConfigTable> tables() const override {
    const auto lines = [this] {
      std::string text;
      for (const Entry& entry : own_entries()) text += entry.text + "\n";
      return text;
    };
    const auto unsaved = [this](std::size_t most) {
      return rule_list::differing(saved_, own_entries(), std::mem_fn(&Entry::text), most);
    };
    return {{.key = "rules", .lines = lines, .unsaved = unsaved}};
  }
  void tables_are_saved() override { saved_ = own_entries(); }

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    const auto number = number_of(chunk, packet);
    if (!number) return "not decided on";
    const std::uint32_t line = list_.line(*number);
    return fmt::format("{} by {}", permits_[*number] != 0 ? "permitted" : "denied",
                       line == 0                       ? std::string("default")
                       : line == rule_list::kByCommand ? std::string("an entry that a command added")
                                                       : fmt::format("the entry of line {}", line));
  }

  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override {
    const auto number = number_of(chunk, packet);
    const Entry* const entry = number ? list_.entry(*number) : nullptr;
    if (entry == nullptr) return nlohmann::ordered_json::object();
    return {{"entry", entry->text}, {"line", rule_list::line_or_null(entry->line)}};
  }

  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (topic == "acl")
      return rule_list::show_entries(list_, "acl", "entry", arguments, std::mem_fn(&Entry::text), true);
    if (topic != "acl-shader") {
      throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
    }
    if (!arguments.empty()) throw std::invalid_argument("acl-shader takes no arguments");
    nlohmann::ordered_json shown = structure_.show(list_.entries().size(), list_.memory_bytes());
    shown["family"] = name_of(family_);
    return shown;
  }
  std::vector<FunctionMetric> metrics() const override {
    return {{.name = "acl_entries",
             .help = "Entries of the access list, with the default.",
             .kind = FunctionMetric::Kind::gauge,
             .value = entries_.load(std::memory_order_relaxed)}};
  }

 private:
  /// Returns the number of the entry that decided on the packet. Returns std::nullopt if the list did not check the
  /// packet.
  static std::optional<std::uint32_t> number_of(const Chunk& chunk, std::uint16_t packet) {
    const std::optional<std::size_t> item = item_of(chunk, packet);
    if (!item) return std::nullopt;
    return static_cast<const Columns*>(chunk.stage_scratch)->numbers[*item];
  }
  bool is_decided_on(const flow_key& flow) const {
    return family_ == Family::both || is_ipv6(flow) == (family_ == Family::ipv6);
  }

  /// Returns the entries without the default, which is the last one.
  std::vector<Entry> own_entries() const { return {list_.entries().begin(), list_.entries().end() - 1}; }

  void put_in_force(std::vector<Entry> entries) {
    list_.replace(std::move(entries),
                  [this](std::uint32_t number, const Entry& entry) { permits_[number] = entry.permits ? 1 : 0; });
    entries_.store(list_.entries().size(), std::memory_order_relaxed);
  }

  const Family family_;
  std::atomic<Parsing> parsing_;
  const rule_list::Structure structure_;
  const std::vector<std::string> warnings_;
  rule_list::List<Entry> list_;
  std::vector<Entry> saved_;                         ///< as in the saved configuration
  HugeArray<std::uint8_t> permits_{kMostRules + 1};  ///< by entry number
  std::atomic<std::size_t> entries_{0};
};

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Settings settings = read_settings(config);
  try {
    settings.structure.choose<Entry>(fields_of(settings.family), settings.entries, std::random_device{}(),
                                     &Entry::match);
    return std::make_unique<Acl>(std::move(settings), context);
  } catch (const std::length_error& error) {
    throw config.at("rules").error(error.what());
  } catch (const std::system_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "acl",
                       .summary = "an access list: permits and denies packets by their 5-tuples",
                       .topics = {{"acl", "[all]: the entries, and what each has decided", {RowLimit::flag()}},
                                  {"acl-shader", "how the list is searched, and why so"}},
                       .create = create,
                       .commands = commands()});

}  // namespace
}  // namespace penumbra::acl
