// SPDX-License-Identifier: Apache-2.0
//
// Rewrites the two words: a foreach becomes a ring of items, and a hint becomes a switch to the next item.
#include "function.h"

namespace gopt {
namespace {

/// Returns true if the argument may become an unsigned long without a cast.
bool is_number(const clang::Expr* argument) {
  const clang::QualType type = argument->getType();
  return type->isDependentType() || type->isArithmeticType() || type->getAsCXXRecordDecl() != nullptr;
}

}  // namespace

/// Prefetches adjacent hints together, followed by a single switch.
void Function::lower_hints(llvm::ArrayRef<const clang::Stmt*> hints) {
  if (!in_loop() && options_.width == 1 && inside_foreach()) return;
  if (!in_loop()) {
    unit_.refuse(hints.front()->getBeginLoc(),
                 "g_expensive outside of a foreach has no other item to switch to; move "
                 "it into the foreach, or remove it");
    return;
  }
  Switch made;
  made.where = hints.front()->getBeginLoc();
  at_ = flow_.add_after(at_);
  made.point = at_;
  for (const clang::Stmt* statement : hints) {
    const clang::CallExpr* hint = Unit::hint(statement);
    if (hint->getNumArgs() < 1 || hint->getNumArgs() > 2 || (hint->getNumArgs() == 2 && !is_number(hint->getArg(1)))) {
      unit_.refuse(hint->getBeginLoc(), "g_expensive takes an address and, if need be, a number of bytes");
      return;
    }
    for (const clang::Expr* argument : hint->arguments()) {
      if (argument->HasSideEffects(unit_.ast, true)) {
        unit_.refuse(argument->getBeginLoc(),
                     "what g_expensive is given may do more than compute an address, and the "
                     "baseline does not evaluate it; compute it into a variable first");
      }
      rename_mentions(argument);
      const size_t before = flow_[at_].changes.size();
      evaluate_part(argument, nullptr, flow_[at_]);
      flow_[at_].changes.resize(before);
    }
    if (!made.what.empty()) made.what += "; ";
    made.what += "g_expensive(";
    for (unsigned i = 0; i < hint->getNumArgs(); ++i) {
      made.what +=
          (i > 0 ? ", " : "") + plain(Text(unit_.tokens).render(unit_.tokens.range(hint->getArg(i)->getSourceRange())));
    }
    made.what += ')';
    made.prefetch += (made.prefetch.empty() ? "" : " ") + prefetch_text(hint);
  }
  made.in_scope = scope_;
  made.loop = static_cast<unsigned>(loop_);
  made.number = static_cast<unsigned>(loops_[static_cast<size_t>(loop_)].switches.size()) + 1;
  const auto number = static_cast<unsigned>(switches_.size());
  loops_[static_cast<size_t>(loop_)].switches.push_back(number);
  switches_.push_back(std::move(made));
  frame_->text.replace({unit_.tokens.statement(hints.front()).begin, unit_.tokens.statement(hints.back()).end},
                       "\x03S" + std::to_string(number) + "\x04");
}

/// Returns the prefetch, into the second-level cache. A core has few miss buffers for its first-level cache (24 on a
/// Zen 4). Prefetches into the second level sustain twice as many lines per second, which matters more than nearer
/// lines.
std::string Function::prefetch_text(const clang::CallExpr* hint) {
  const std::string address = text_of(hint->getArg(0));
  if (hint->getNumArgs() == 1) return "__builtin_prefetch((const void *)(" + address + "), 0, 2);";
  const std::string bytes = text_of(hint->getArg(1));
  prefetches_ranges_ = true;
  return "gopt_prefetch((const void *)(" + address + "), " + bytes + ");";
}

/// Returns false without a hint or with one item at a time: the foreach then stays an ordinary loop.
bool Function::needs_rewriting(const clang::Stmt* foreach_statement) {
  return in_loop() || frame_->number > 0 || (options_.width > 1 && unit_.switches_inside(foreach_statement));
}

bool Function::inside_foreach() const {
  return llvm::any_of(targets_, [](const Target& target) { return Unit::foreach_loop(target.statement) != nullptr; });
}

void Function::lower_foreach(const clang::ForStmt* statement) {
  if (frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(), "this function is called from a foreach and cannot hold one; write a for");
    return;
  }
  if (in_loop()) {
    unit_.refuse(statement->getBeginLoc(), "a foreach cannot be in a foreach; write the inner one as a for");
    return;
  }
  Loop made;
  made.statement = statement;
  const auto* bound = llvm::dyn_cast<clang::BinaryOperator>(statement->getCond()->IgnoreUnlessSpelledInSource());
  if (bound == nullptr) return unit_.refuse(statement->getBeginLoc(), "foreach needs a number of items");
  const clang::QualType count = bound->getRHS()->getType();
  if (!count->isDependentType() && !count->isIntegralOrUnscopedEnumerationType()) {
    return unit_.refuse(bound->getRHS()->getBeginLoc(),
                        "the number of items has the type '" + count.getAsString() + "'; write an integer");
  }
  if (bound->getRHS()->HasSideEffects(unit_.ast, true)) {
    unit_.refuse(bound->getRHS()->getBeginLoc(),
                 "the number of items may be evaluated any number of times; compute it "
                 "into a variable before the foreach");
  }
  const auto* index = llvm::cast<clang::VarDecl>(llvm::cast<clang::DeclStmt>(statement->getInit())->getSingleDecl());
  if (mentions_of(index, bound->getRHS()) > 0) {
    return unit_.refuse(bound->getRHS()->getBeginLoc(),
                        "the number of items depends on '" + index->getNameAsString() + "', the item; write a for");
  }
  evaluate(bound->getRHS());
  made.count = text_of(bound->getRHS());
  made.has_plain = options_.any_width && !Unit::has_label(statement);
  std::set<const clang::CallExpr*> expanded_before = expanded_calls_;
  const auto number = static_cast<int>(loops_.size());
  loops_.push_back(std::move(made));
  const unsigned before = flow_.add_after(at_);
  const unsigned after = flow_.add_after(before);
  loop_ = number;
  shared_.clear();
  hoisted_.clear();
  const size_t scope = scope_.size();
  const unsigned variable = add_variable(index);
  variables_[variable].is_index = true;
  loops_.back().index = variable;
  declare_in_scope(variable);
  const unsigned start = flow_.add_after(before);
  flow_[start].kills.push_back(variable);
  flow_[start].changes.push_back(variable);
  const unsigned end = flow_.add();
  at_ = start;
  Target target;
  target.statement = statement;
  target.continue_to = end;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, end);
  flow_.link(end, start);
  flow_.link(end, after);
  at_ = after;
  scope_.resize(scope);
  Loop& loop = loops_[static_cast<size_t>(number)];
  loop.start = start;
  loop.end = after;
  loop_ = -1;
  const std::string plain = Text(unit_.tokens).render(unit_.tokens.statement(statement));
  if (loop.switches.empty()) {  // All hints have vanished.
    expanded_calls_ = std::move(expanded_before);
    frame_->text.replace(unit_.tokens.statement(statement), plain);
    return;
  }
  loop.body = text_of(statement->getBody());
  if (loop.has_plain) loop.plain = plain;
  frame_->text.replace(unit_.tokens.statement(statement), "\x03L" + std::to_string(number) + "\x04");
  for (auto& [declaration, use] : shared_) {
    if (!use.changed || use.only_sums || !declaration->hasLocalStorage()) continue;
    // Each item gets its own copy; check_shared() checks that this does not change the result.
    Variable& own = variables_[frame_->variables.at(declaration)];
    own.loop = number;
    own.is_outside = true;
    own.changed = use.where;
    for (const unsigned at : loop.switches) {
      std::vector<unsigned>& in_scope = switches_[at].in_scope;
      const unsigned number_in_scope = frame_->variables.at(declaration);
      if (llvm::find(in_scope, number_in_scope) == in_scope.end()) in_scope.push_back(number_in_scope);
    }
  }
}

}  // namespace gopt
