// SPDX-License-Identifier: Apache-2.0
//
// Statements: their flow, and what becomes of them where items switch inside.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

bool has_label(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  return llvm::isa<clang::LabelStmt>(statement) || llvm::any_of(statement->children(), has_label);
}

}  // namespace

void Function::lower_all(const clang::CompoundStmt* compound) {
  const size_t scope = scope_.size();
  const std::vector<const clang::Stmt*> children(compound->body_begin(), compound->body_end());
  for (size_t i = 0; i < children.size(); ++i) {
    size_t hints = 0;
    while (i + hints < children.size() && Unit::hint(children[i + hints]) != nullptr) ++hints;
    if (hints > 0) {
      lower_hints(llvm::ArrayRef(children).slice(i, hints));
      i += hints - 1;
      continue;
    }
    if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(children[i])) {
      bool switched = false;
      for (size_t later = i + 1; later < children.size(); ++later) switched |= unit_.switches_inside(children[later]);
      lower_declarations(declarations, switched && in_loop());
      continue;
    }
    lower(children[i]);
  }
  scope_.resize(scope);
}

void Function::lower(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  if (Unit::hint(statement) != nullptr) return lower_hints({statement});
  if (Unit::foreach_loop(statement) != nullptr && needs_rewriting(statement)) return lower_foreach(llvm::cast<clang::ForStmt>(statement));
  if (const auto* s = llvm::dyn_cast<clang::CompoundStmt>(statement)) return lower_all(s);
  if (const auto* s = llvm::dyn_cast<clang::DeclStmt>(statement)) return lower_declarations(s, false);
  if (const auto* s = llvm::dyn_cast<clang::IfStmt>(statement)) return lower_if(s);
  if (const auto* s = llvm::dyn_cast<clang::ForStmt>(statement)) return lower_for(s);
  if (const auto* s = llvm::dyn_cast<clang::WhileStmt>(statement)) return lower_while(s);
  if (const auto* s = llvm::dyn_cast<clang::DoStmt>(statement)) return lower_do(s);
  if (const auto* s = llvm::dyn_cast<clang::SwitchStmt>(statement)) return lower_switch(s);
  if (const auto* s = llvm::dyn_cast<clang::CXXForRangeStmt>(statement)) return lower_range_for(s);
  if (const auto* s = llvm::dyn_cast<clang::CXXTryStmt>(statement)) return lower_try(s);
  if (const auto* s = llvm::dyn_cast<clang::SwitchCase>(statement)) return lower_case(s);
  if (const auto* s = llvm::dyn_cast<clang::BreakStmt>(statement)) return lower_break(s);
  if (const auto* s = llvm::dyn_cast<clang::ContinueStmt>(statement)) return lower_continue(s);
  if (const auto* s = llvm::dyn_cast<clang::ReturnStmt>(statement)) return lower_return(s);
  if (const auto* s = llvm::dyn_cast<clang::GotoStmt>(statement)) return lower_goto(s);
  if (const auto* s = llvm::dyn_cast<clang::LabelStmt>(statement)) return lower_label(s);
  if (const auto* s = llvm::dyn_cast<clang::AttributedStmt>(statement)) return lower(s->getSubStmt());
  if (const auto* s = llvm::dyn_cast<clang::Expr>(statement)) return lower_expression(s);
  if (llvm::isa<clang::NullStmt>(statement)) return;
  if (llvm::isa<clang::GCCAsmStmt>(statement) && !llvm::cast<clang::GCCAsmStmt>(statement)->isAsmGoto()) {
    at_ = flow_.add_after(at_);
    rename_mentions(statement);
    for (const clang::Stmt* child : statement->children()) evaluate_part(child, nullptr, flow_[at_]);
    return;
  }
  if (in_loop() || frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(), std::string("a ") + statement->getStmtClassName() + " cannot stand in a foreach");
  }
}

/// Hints that stand side by side are prefetched together, and then the items switch once.
void Function::lower_hints(llvm::ArrayRef<const clang::Stmt*> hints) {
  if (!in_loop() && options_.width == 1 && inside_foreach()) return;
  if (!in_loop()) {
    unit_.refuse(hints.front()->getBeginLoc(), "g_expensive outside of a foreach has no other item to switch to; move "
                                               "it into the foreach, or remove it");
    return;
  }
  Switch made;
  made.where = hints.front()->getBeginLoc();
  at_ = flow_.add_after(at_);
  made.point = at_;
  for (const clang::Stmt* statement : hints) {
    const clang::CallExpr* hint = Unit::hint(statement);
    if (hint->getNumArgs() < 1 || hint->getNumArgs() > 2) {
      unit_.refuse(hint->getBeginLoc(), "g_expensive takes an address and, if need be, a number of bytes");
      return;
    }
    for (const clang::Expr* argument : hint->arguments()) {
      if (argument->HasSideEffects(unit_.ast, true)) {
        unit_.refuse(argument->getBeginLoc(), "what g_expensive is given may do more than compute an address, and the "
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
      made.what += (i > 0 ? ", " : "") + plain(Text(unit_.tokens).render(unit_.tokens.range(hint->getArg(i)->getSourceRange())));
    }
    made.what += ")";
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

std::string Function::prefetch_text(const clang::CallExpr* hint) {
  const std::string address = text_of(hint->getArg(0));
  if (hint->getNumArgs() == 1) return "__builtin_prefetch((const void *)(" + address + "));";
  const std::string bytes = text_of(hint->getArg(1));
  prefetches_ranges_ = true;
  return "gopt_prefetch((const void *)(" + address + "), " + bytes + ");";
}

/// Without a hint, or with one item at a time, a foreach is the loop that it looks like.
bool Function::needs_rewriting(const clang::Stmt* foreach_statement) {
  return in_loop() || frame_->number > 0 || (options_.width > 1 && unit_.switches_inside(foreach_statement));
}

bool Function::inside_foreach() const {
  return llvm::any_of(targets_, [](const Target& target) { return Unit::foreach_loop(target.statement) != nullptr; });
}

void Function::lower_foreach(const clang::ForStmt* statement) {
  if (in_loop()) {
    unit_.refuse(statement->getBeginLoc(), "a foreach cannot stand in a foreach; write the inner one as a for");
    return;
  }
  if (frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(), "this function is called from a foreach and cannot hold one; write a for");
    return;
  }
  Loop made;
  made.statement = statement;
  const auto* bound = llvm::dyn_cast<clang::BinaryOperator>(statement->getCond()->IgnoreUnlessSpelledInSource());
  if (bound == nullptr) return unit_.refuse(statement->getBeginLoc(), "foreach needs a number of items");
  if (bound->getRHS()->HasSideEffects(unit_.ast, true)) {
    unit_.refuse(bound->getRHS()->getBeginLoc(), "the number of items may be evaluated any number of times; compute it "
                                                 "into a variable before the foreach");
  }
  evaluate(bound->getRHS());
  made.count = text_of(bound->getRHS());
  made.has_plain = options_.any_width && !has_label(statement);
  const auto number = static_cast<int>(loops_.size());
  loops_.push_back(std::move(made));
  const unsigned before = flow_.add_after(at_);
  const unsigned after = flow_.add_after(before);
  loop_ = number;
  shared_.clear();
  hoisted_.clear();
  const size_t scope = scope_.size();
  const auto* index = llvm::cast<clang::VarDecl>(llvm::cast<clang::DeclStmt>(statement->getInit())->getSingleDecl());
  const unsigned variable = add_variable(index);
  variables_[variable].is_index = true;
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
  loop.index = variable;
  loop.body = text_of(statement->getBody());
  if (loop.has_plain) loop.plain = Text(unit_.tokens).render(unit_.tokens.statement(statement));
  frame_->text.replace(unit_.tokens.statement(statement), "\x03L" + std::to_string(number) + "\x04");
  for (auto& [declaration, use] : shared_) {
    if (!use.changed || use.only_sums || !declaration->hasLocalStorage()) continue;
    // Each item gets its own one; check_shared() says if that is the same.
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
  loop_ = -1;
}

/// The blanks that a line starts with.
std::string Function::indent_at(clang::SourceLocation where) const {
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(where));
  const llvm::StringRef before = sources.getBufferData(file).substr(0, offset);
  const llvm::StringRef line = before.substr(before.rfind('\n') + 1);
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())).str();
}

void Function::wrap(const clang::Stmt* statement, const std::string& before) {
  const TokenRange range = unit_.tokens.statement(statement);
  frame_->text.insert_before(range.begin, "{ " + before + "\n" + indent_at(statement->getBeginLoc()));
  frame_->text.insert_after(range.end - 1, " }");
}

void Function::lower_expression(const clang::Expr* expression) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(expression->IgnoreParens()->IgnoreUnlessSpelledInSource());
  const clang::FunctionDecl* callee = call != nullptr ? unit_.expandable(call) : nullptr;
  if (callee != nullptr && in_loop()) {
    frame_->text.replace(unit_.tokens.statement(expression), expand(call, callee, false));
    return;
  }
  const size_t scope = scope_.size();
  const Expanded expanded = expand_calls(expression);
  evaluate(expression);
  if (!expanded.empty()) wrap(expression, expanded.all());
  scope_.resize(scope);
}

void Function::lower_if(const clang::IfStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && (statement->getInit() != nullptr || statement->getConditionVariable() != nullptr)) {
    unit_.refuse(statement->getBeginLoc(), "items switch in the scope of a variable that an if declares; declare it "
                                           "before the if");
    return;
  }
  if (statement->getInit() != nullptr) lower(statement->getInit());
  if (statement->getConditionVariableDeclStmt() != nullptr) {
    lower_declarations(statement->getConditionVariableDeclStmt(), false);
  }
  const Expanded expanded = expand_calls(statement->getCond());
  evaluate(statement->getCond());
  const unsigned head = at_;
  lower(statement->getThen());
  const unsigned then_end = at_;
  at_ = flow_.add_after(head);
  if (statement->getElse() != nullptr) lower(statement->getElse());
  const unsigned after = flow_.add_after(at_);
  flow_.link(then_end, after);
  at_ = after;
  if (!expanded.empty()) wrap(statement, expanded.all());
  scope_.resize(scope);
}

void Function::lower_for(const clang::ForStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && statement->getConditionVariable() != nullptr) {
    unit_.refuse(statement->getBeginLoc(), "items switch in the scope of a variable that a condition declares; declare "
                                           "it before the loop");
    return;
  }
  lower_for_declarations(statement);
  const unsigned head = flow_.add_after(at_);
  at_ = head;
  const size_t condition_scope = scope_.size();
  Expanded expanded;
  if (statement->getCond() != nullptr) {
    expanded = expand_calls(statement->getCond());
    if (statement->getConditionVariableDeclStmt() != nullptr) {
      lower_declarations(statement->getConditionVariableDeclStmt(), false);
    }
    evaluate(statement->getCond());
  }
  const unsigned tested = at_;
  const unsigned after = flow_.add();
  const unsigned step = flow_.add();
  if (statement->getCond() != nullptr) flow_.link(tested, after);
  at_ = flow_.add_after(tested);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = step;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, step);
  at_ = step;
  if (statement->getInc() != nullptr) evaluate(statement->getInc());
  flow_.link(at_, head);
  at_ = after;
  if (!expanded.empty()) {
    const TokenRange condition = unit_.tokens.range(statement->getCond()->getSourceRange());
    const std::string test = frame_->text.render(condition);
    frame_->text.replace(condition, "");
    const TokenRange body = unit_.tokens.statement(statement->getBody());
    frame_->text.insert_before(body.begin, "{ " + expanded.all() + " if (!(" + test + ")) break; ");
    frame_->text.insert_after(body.end - 1, " }");
  }
  scope_.resize(condition_scope);
  scope_.resize(scope);
}

void Function::lower_while(const clang::WhileStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && statement->getConditionVariable() != nullptr) {
    unit_.refuse(statement->getBeginLoc(), "items switch in the scope of a variable that a condition declares; declare "
                                           "it before the loop");
    return;
  }
  const unsigned head = flow_.add_after(at_);
  at_ = head;
  const Expanded expanded = expand_calls(statement->getCond());
  if (statement->getConditionVariableDeclStmt() != nullptr) {
    lower_declarations(statement->getConditionVariableDeclStmt(), false);
  }
  evaluate(statement->getCond());
  const unsigned after = flow_.add_after(at_);
  at_ = flow_.add_after(at_);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = head;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, head);
  at_ = after;
  if (!expanded.empty()) {
    const TokenRange condition = unit_.tokens.range(statement->getCond()->getSourceRange());
    const std::string test = frame_->text.render(condition);
    frame_->text.replace(condition, "1");
    const TokenRange body = unit_.tokens.statement(statement->getBody());
    frame_->text.insert_before(body.begin, "{ " + expanded.all() + " if (!(" + test + ")) break; ");
    frame_->text.insert_after(body.end - 1, " }");
  }
  scope_.resize(scope);
}

void Function::lower_do(const clang::DoStmt* statement) {
  const size_t scope = scope_.size();
  const unsigned head = flow_.add_after(at_);
  const unsigned test = flow_.add();
  const unsigned after = flow_.add();
  at_ = head;
  // Where the condition must be computed by statements, `continue` has to find them: they come after a label.
  const bool computed = in_loop() && unit_.switches_inside(statement->getCond());
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = test;
  if (computed) target.continue_label = "gopt_again_" + std::to_string(frame_->number) + "_" + std::to_string(head);
  targets_.push_back(target);
  lower(statement->getBody());
  const std::string continue_label = targets_.back().continue_label;
  const bool continued = targets_.back().label_used;
  targets_.pop_back();
  flow_.link(at_, test);
  at_ = test;
  if (computed) {
    // The results must outlive the body's braces, for the condition stands outside of them.
    const Expanded expanded = expand_calls(statement->getCond());
    const TokenRange body = unit_.tokens.statement(statement->getBody());
    frame_->text.insert_before(body.begin, "{ ");
    frame_->text.insert_after(body.end - 1, (continued ? " " + continue_label + ":; " : " ") + expanded.computed + " }");
    wrap(statement, expanded.declared);
  }
  evaluate(statement->getCond());
  flow_.link(at_, head);
  flow_.link(at_, after);
  at_ = after;
  scope_.resize(scope);
}

void Function::lower_switch(const clang::SwitchStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && (statement->getInit() != nullptr || statement->getConditionVariable() != nullptr)) {
    unit_.refuse(statement->getBeginLoc(), "items switch in the scope of a variable that a switch declares; declare it "
                                           "before the switch");
    return;
  }
  if (statement->getInit() != nullptr) lower(statement->getInit());
  if (statement->getConditionVariableDeclStmt() != nullptr) {
    lower_declarations(statement->getConditionVariableDeclStmt(), false);
  }
  const Expanded expanded = expand_calls(statement->getCond());
  evaluate(statement->getCond());
  const unsigned head = at_;
  const unsigned after = flow_.add();
  bool has_default = false;
  for (const clang::SwitchCase* label = statement->getSwitchCaseList(); label != nullptr; label = label->getNextSwitchCase()) {
    has_default |= llvm::isa<clang::DefaultStmt>(label);
  }
  if (!has_default) flow_.link(head, after);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.takes_continue = false;
  targets_.push_back(target);
  switch_heads_.emplace_back(statement, head);
  at_ = flow_.add();
  lower(statement->getBody());
  switch_heads_.pop_back();
  targets_.pop_back();
  flow_.link(at_, after);
  at_ = after;
  if (!expanded.empty()) wrap(statement, expanded.all());
  scope_.resize(scope);
}

void Function::lower_case(const clang::SwitchCase* statement) {
  const unsigned point = flow_.add_after(at_);
  flow_.link(switch_heads_.back().second, point);
  at_ = point;
  lower(statement->getSubStmt());
}

void Function::lower_range_for(const clang::CXXForRangeStmt* statement) {
  if (in_loop() && unit_.switches_inside(statement)) {
    unit_.refuse(statement->getBeginLoc(), "items switch in a loop over a range, whose iterators have no names; write it "
                                           "as a for with an index");
    return;
  }
  const size_t scope = scope_.size();
  if (statement->getInit() != nullptr) lower(statement->getInit());
  evaluate(statement->getRangeInit());
  const unsigned head = flow_.add_after(at_);
  const unsigned after = flow_.add_after(head);
  at_ = flow_.add_after(head);
  const unsigned variable = add_variable(statement->getLoopVariable());
  write_name(variable);
  declare_in_scope(variable);
  flow_[at_].kills.push_back(variable);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = head;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, head);
  at_ = after;
  scope_.resize(scope);
}

void Function::lower_try(const clang::CXXTryStmt* statement) {
  if (in_loop() && unit_.switches_inside(statement)) {
    unit_.refuse(statement->getBeginLoc(), "items switch inside a try block, and nothing can jump into one; move the try "
                                           "block around the statements between the hints");
    return;
  }
  const unsigned before = at_;
  at_ = flow_.add_after(at_);
  const unsigned first = at_;
  lower(statement->getTryBlock());
  const unsigned last = flow_.add();
  const unsigned after = flow_.add_after(at_);
  for (unsigned i = 0; i < statement->getNumHandlers(); ++i) {
    at_ = flow_.add_after(before);
    for (unsigned thrower = first; thrower < last; ++thrower) flow_.link(thrower, at_);
    lower(statement->getHandler(i)->getHandlerBlock());
    flow_.link(at_, after);
  }
  at_ = after;
}

void Function::lower_break(const clang::BreakStmt* statement) {
  if (!targets_.empty() && Unit::foreach_loop(targets_.back().statement) != nullptr) {
    unit_.refuse(statement->getBeginLoc(), "a break out of a foreach leaves the other items undone, and which those are "
                                           "is not defined; use continue to end this item");
  } else if (!targets_.empty()) {
    flow_.link(at_, targets_.back().break_to);
  }
  at_ = flow_.add();
}

void Function::lower_continue(const clang::ContinueStmt* statement) {
  for (size_t i = targets_.size(); i-- > 0;) {
    if (!targets_[i].takes_continue) continue;
    flow_.link(at_, targets_[i].continue_to);
    if (Unit::foreach_loop(targets_[i].statement) != nullptr) {
      frame_->text.replace(unit_.tokens.statement(statement), "goto " + label("item_done", static_cast<unsigned>(loop_)) + ";");
      loops_[static_cast<size_t>(loop_)].goes_to_done = true;
    } else if (!targets_[i].continue_label.empty()) {
      frame_->text.replace(unit_.tokens.statement(statement), "goto " + targets_[i].continue_label + ";");
      targets_[i].label_used = true;
    }
    break;
  }
  at_ = flow_.add();
}

void Function::lower_return(const clang::ReturnStmt* statement) {
  const size_t scope = scope_.size();
  Expanded expanded;
  if (statement->getRetValue() != nullptr) {
    expanded = expand_calls(statement->getRetValue());
    evaluate(statement->getRetValue());
  }
  if (frame_->number > 0) {
    std::string text = "{ " + expanded.all() + (expanded.empty() ? "" : " ");
    if (statement->getRetValue() != nullptr) {
      const std::string value = text_of(statement->getRetValue());
      if (frame_->result >= 0) {
        const Variable& result = variables_[static_cast<size_t>(frame_->result)];
        text += value_text(result, value) + " ";
        at_ = flow_.add_after(at_);
        flow_[at_].kills.push_back(static_cast<unsigned>(frame_->result));
        flow_[at_].changes.push_back(static_cast<unsigned>(frame_->result));
      } else {
        text += "(void)(" + value + "); ";
      }
    }
    flow_.link(at_, frame_->returned);
    frame_->has_return = true;
    text += "goto gopt_return_" + std::to_string(frame_->number) + "; }";
    frame_->text.replace(unit_.tokens.statement(statement), text);
  } else if (in_loop()) {
    unit_.refuse(statement->getBeginLoc(), "a return inside a foreach leaves the other items undone, and which those are "
                                           "is not defined; use continue to end this item");
  } else {
    flow_.link(at_, exit_);
  }
  at_ = flow_.add();
  scope_.resize(scope);
}

unsigned Function::label_point(const clang::LabelDecl* label) {
  const auto [entry, is_new] = frame_->labels.try_emplace(label, 0);
  if (is_new) entry->second = flow_.add();
  return entry->second;
}

void Function::lower_goto(const clang::GotoStmt* statement) {
  flow_.link(at_, label_point(statement->getLabel()));
  at_ = flow_.add();
  if (frame_->number > 0) {
    unit_.refuse(statement->getBeginLoc(), "a function that is expanded in a foreach cannot use goto; use a loop");
    return;
  }
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const auto loop_around = [&](clang::SourceLocation where) {
    for (const Target& target : targets_) {
      if (Unit::foreach_loop(target.statement) == nullptr) continue;
      const clang::SourceRange range = target.statement->getSourceRange();
      const clang::SourceLocation at = sources.getExpansionLoc(where);
      if (!sources.isBeforeInTranslationUnit(at, sources.getExpansionLoc(range.getBegin())) &&
          !sources.isBeforeInTranslationUnit(sources.getExpansionLoc(range.getEnd()), at)) {
        return true;
      }
    }
    return false;
  };
  if (in_loop() && !loop_around(statement->getLabel()->getStmt()->getBeginLoc())) {
    unit_.refuse(statement->getBeginLoc(), "a goto out of a foreach leaves the other items undone, and which those are is "
                                           "not defined; use continue to end this item");
  }
}

void Function::lower_label(const clang::LabelStmt* statement) {
  const unsigned point = label_point(statement->getDecl());
  flow_.link(at_, point);
  at_ = point;
  lower(statement->getSubStmt());
}

}  // namespace gopt
