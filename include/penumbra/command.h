// SPDX-License-Identifier: Apache-2.0
//
// Defines commands that change the tables of a function while the router runs: `penumbra route add 10.0.0.0/8 dev lan`.
// A function registers its commands (FunctionInfo::commands). The command line, the shell completion, the man page and
// the control socket read the registered commands.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penumbra {

/// One action of a command.
struct CommandAction {
  std::string name;     ///< For example "add".
  std::string help;     ///< One line.
  std::string entry;    ///< Syntax of an entry: "PREFIX [via ADDRESS] dev PORT [metric N]".
  bool changes = true;  ///< False if the action changes nothing; a read-only control socket accepts it.
};

/// A command of a function: `penumbra NAME ACTION ENTRY`.
struct FunctionCommand {
  std::string name;  ///< For example "route".
  std::string help;  ///< One line.
  std::vector<CommandAction> actions;
  std::string topic;  ///< The topic of `show` that `penumbra NAME show` prints, one of FunctionInfo::topics.
  /// Selects the lines of `text` that belong to this function, where several functions of a pipeline have the command.
  /// Returns `text` with all other lines made empty. Null: a caller must name the stage.
  std::string (*select)(std::string_view text) = nullptr;
};

/// The entries of a command, one per line.
struct CommandEntries {
  std::string text;
  std::string name;  ///< Name of the text in error messages: a file name or "command line".
};

/// A checked change of a function's tables that has not been applied. Used on the control thread.
class Change {
 public:
  /// Numbers of table entries that are added, removed and changed in value.
  struct Counts {
    std::size_t added = 0, removed = 0, changed = 0;
  };

  Change() = default;
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  virtual ~Change() = default;

  /// Applies the change while packets go through the function. Throws std::exception if a limit is reached; the tables
  /// are then unchanged.
  virtual void apply() = 0;
  /// Reverts an applied change. Precondition: all later changes of the function have been reverted.
  virtual void undo() = 0;
  virtual Counts counts() const = 0;
};

/// Replaces a whole value of a function, such as a list of entries.
template <class Value, class Put>
class Replacement final : public Change {
 public:
  Replacement(Value before, Value after, Counts counts, Put put)
      : before_(std::move(before)), after_(std::move(after)), counts_(counts), put_(std::move(put)) {}
  void apply() override { put_(after_); }
  void undo() override { put_(before_); }
  Counts counts() const override { return counts_; }

 private:
  Value before_, after_;
  Counts counts_;
  Put put_;
};

/// Returns the change that calls `put(after)` to apply and `put(before)` to revert. `put` takes a `const Value&`, and
/// leaves the function unchanged if it throws.
template <class Value, class Put>
std::unique_ptr<Change> make_replacement(Value before, Value after, Change::Counts counts, Put put) {
  return std::make_unique<Replacement<Value, Put>>(std::move(before), std::move(after), counts, std::move(put));
}

/// A table of a function's configuration that commands change. `lines` and `unsaved` are valid until the table changes.
struct ConfigTable {
  std::string key;  ///< Key in the function's configuration, such as "routes".
  /// Returns the entries, one per line, in the format of a file that the key names.
  std::function<std::string()> lines;
  /// Returns at most `most` changes that commands made since the table was loaded or saved: "+ ENTRY" or "- ENTRY".
  std::function<std::vector<std::string>(std::size_t most)> unsaved;
};

}  // namespace penumbra
