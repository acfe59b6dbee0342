// SPDX-License-Identifier: Apache-2.0
//
// `penumbra lookup --routes FILE [ADDRESS...]`: the routes of addresses on the command line or on standard input.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input_lines.h"
#include "cli/output.h"
#include "cli/route_lookup.h"
#include "control/route_json.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

struct LookupOptions {
  std::string routes, engine = "auto";
  std::vector<std::string> addresses;  ///< empty: addresses on standard input
  bool ipv6 = false, json = false;
};

/// Returns a line without comment and surrounding blanks.
std::string_view content(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line = line.substr(0, line.find('#'));
  const auto begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

bool leads_nowhere(const std::string* target) {
  return target == nullptr || *target == "blackhole" || *target == "unreachable";
}

template <class Address, class Answer>
std::string text_of(Address address, const Answer& answer) {
  const std::string name = to_string(address);
  if (!answer.prefix || leads_nowhere(answer.target)) return name + " unreachable\n";
  return name + " " + to_string(*answer.prefix) + " " + *answer.target + "\n";
}

template <class Family>
nlohmann::ordered_json target_json(const std::string* target) {
  if (target == nullptr) return {{"type", "no_route"}};
  if (leads_nowhere(target)) return {{"type", *target}};
  return control::to_json(
      control::parse_routes<typename Family::AddressFamily>("default " + *target, "", {}).targets.front());
}

/// Writes answers as text or JSON.
template <class Family>
class AnswerPrinter {
 public:
  using Address = typename Family::Address;

  explicit AnswerPrinter(const LookupOptions& options) : json_(options.json), routes_(options.routes) {}

  void print(RouteLookup<Family>& lookup, const std::vector<Address>& addresses) {
    const auto answers = lookup.answer(addresses);
    std::string text;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      text += json_ ? json_of(addresses[i], answers[i]) : text_of(addresses[i], answers[i]);
      if (answers[i].target != nullptr) continue;
      if (without_route_++ == 0) first_without_route_ = addresses[i];
    }
    write_output(text);
    flush_output();
  }

  /// Tells users how to solve a missing route; JSON has `no_route`.
  void note_missing_routes() const {
    if (json_ || without_route_ == 0) return;
    const std::string others = without_route_ == 1 ? "" : fmt::format(" and for {} more", without_route_ - 1);
    const std::string note =
        fmt::format("penumbra: {}: no route for {}{}; add one, or a default route: default via GATEWAY dev PORT\n",
                    routes_, to_string(first_without_route_), others);
    std::fputs(note.c_str(), stderr);
  }

 private:
  std::string json_of(Address address, const typename RouteLookup<Family>::Answer& answer) {
    auto& members = target_members_[answer.target];
    if (members.empty()) members = target_json<Family>(answer.target).dump().substr(1);
    const std::string prefix = answer.prefix ? fmt::format("\"prefix\":\"{}\",", to_string(*answer.prefix)) : "";
    return fmt::format("{{\"address\":\"{}\",{}{}\n", to_string(address), prefix, members);
  }

  bool json_;
  std::string routes_;                ///< name of the file
  std::uint64_t without_route_ = 0;   ///< number of addresses
  Address first_without_route_ = {};  ///< valid if `without_route_` is not 0
  /// The members of an object after the prefix, by target: there are few targets and many addresses.
  std::unordered_map<const std::string*, std::string> target_members_;
};

/// Returns the addresses. Throws Failure for a word that is not an address, before any lookup.
template <class Family>
std::vector<typename Family::Address> addresses_of(const std::vector<std::string>& words) {
  std::vector<typename Family::Address> addresses;
  for (const auto& word : words) {
    const auto address = Family::parse_address(word);
    if (!address) {
      throw Failure(ExitCode::usage, fmt::format("expected an {} address, found {}", Family::kName, quote(word)));
    }
    addresses.push_back(*address);
  }
  return addresses;
}

template <class Family>
void look_up_lines(RouteLookup<Family>& lookup, AnswerPrinter<Family>& printer) {
  InputLines input(STDIN_FILENO);
  std::vector<typename Family::Address> addresses;
  int number = 0;
  for (auto* lines = &input.next(); !lines->empty(); lines = &input.next()) {
    addresses.clear();
    for (const auto line : *lines) {
      ++number;
      const std::string_view word = content(line);
      if (word.empty()) continue;
      const auto address = Family::parse_address(word);
      if (!address) {
        printer.print(lookup, addresses);
        throw InputError({"-", number, static_cast<int>(word.data() - line.data()) + 1},
                         fmt::format("expected an {} address, found {}", Family::kName, quote(word)));
      }
      addresses.push_back(*address);
    }
    printer.print(lookup, addresses);
  }
}

template <class Family>
void look_up(const LookupOptions& options) {
  const auto addresses = addresses_of<Family>(options.addresses);
  RouteLookup<Family> lookup(control::read_routes<typename Family::AddressFamily>(options.routes, {}), options.engine);
  AnswerPrinter<Family> printer(options);
  if (addresses.empty()) {
    look_up_lines(lookup, printer);
  } else {
    printer.print(lookup, addresses);
  }
  printer.note_missing_routes();
}

/// The family is that of the addresses; for standard input, -6 chooses it.
void look_up_any(LookupOptions& options) {
  options.ipv6 = options.ipv6 || (!options.addresses.empty() && options.addresses[0].find(':') != std::string::npos);
  (options.ipv6 ? look_up<ipv6::Family> : look_up<ipv4::Family>)(options);
}

void set_up_lookup(CLI::App& command) {
  const auto options = std::make_shared<LookupOptions>();
  command.add_option("--routes", options->routes, "A file of routes as `ip route` prints them; it may name any ports")
      ->required()
      ->type_name("FILE");
  command.add_option("ADDRESS", options->addresses, "What to look up; if none is given, what standard input has")
      ->type_name("ADDRESS");
  command.add_flag("-6,--ipv6", options->ipv6, "The routes and addresses are of IPv6");
  command.add_option("--engine", options->engine, "Where the look-ups run")
      ->check(as_engine())
      ->type_name("ENGINE")
      ->capture_default_str();
  add_json_flag(command, options->json);
  command.footer(
      "Without an ADDRESS they are read from standard input, one a line; empty lines and # comments are skipped. "
      "Prints\n"
      "`ADDRESS PREFIX via NEXTHOP dev PORT` or `ADDRESS unreachable`; with -j a JSON object a line. Standard error "
      "tells of "
      "addresses\nwithout a route.");
  command.callback([options] { look_up_any(*options); });
}

const bool kLookupCommand = register_command({"lookup", "Look up addresses in a route file", set_up_lookup});

}  // namespace
}  // namespace penumbra::cli
