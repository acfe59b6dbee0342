// SPDX-License-Identifier: Apache-2.0
#include "reads.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Analysis/CFG.h"
#include "llvm/ADT/STLExtras.h"

namespace gopt {
namespace {

constexpr unsigned kMostCalls = 4096;  // Each call is analysed separately. No hand-written source has as many.

/// Returns the object that a copy of a whole class reads.
const clang::Expr* copied_object(const clang::Stmt* statement) {
  const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(statement);
  if (construct == nullptr || construct->getNumArgs() != 1) return nullptr;
  const clang::CXXConstructorDecl* constructor = construct->getConstructor();
  const bool copies = constructor->isCopyOrMoveConstructor() && constructor->isTrivial();
  return copies && construct->getArg(0)->isGLValue() ? construct->getArg(0) : nullptr;
}

/// Returns the object whose value an expression reads from memory, or null.
const clang::Expr* read_object(const clang::Stmt* statement) {
  if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(statement)) {
    return cast->getCastKind() == clang::CK_LValueToRValue ? cast->getSubExpr() : nullptr;
  }
  if (const auto* assignment = llvm::dyn_cast<clang::CompoundAssignOperator>(statement)) return assignment->getLHS();
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
    return unary->isIncrementDecrementOp() ? unary->getSubExpr() : nullptr;
  }
  return copied_object(statement);
}

const clang::VarDecl* named_variable(const clang::Expr* expression) {
  const auto* mention = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParens());
  return mention != nullptr ? llvm::dyn_cast<clang::VarDecl>(mention->getDecl()) : nullptr;
}

std::unique_ptr<clang::CFG> flow_of(const clang::FunctionDecl* function, clang::ASTContext& ast) {
  clang::CFG::BuildOptions options;
  options.setAllAlwaysAdd();
  return clang::CFG::buildCFG(function, function->getBody(), &ast, options);
}

}  // namespace

Reads::Reads(Unit& unit, const clang::FunctionDecl* function, const clang::ForStmt* loop)
    : unit_(unit), index_(llvm::cast<clang::VarDecl>(llvm::cast<clang::DeclStmt>(loop->getInit())->getSingleDecl())) {
  collect(loop->getBody());
  own_.insert(index_);
  Frame frame(unit, function, {}, index_);
  calling_.push_back(function);
  walk(frame, {});
}

/// Collects the statements inside, and the variables that each item has or sets.
void Reads::collect(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  inside_.insert(statement);
  if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declared->decls()) {
      if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration)) own_.insert(variable);
    }
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
      binary != nullptr && binary->isAssignmentOp()) {
    if (const clang::VarDecl* variable = named_variable(binary->getLHS())) own_.insert(variable);
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
      unary != nullptr && unary->isIncrementDecrementOp()) {
    if (const clang::VarDecl* variable = named_variable(unary->getSubExpr())) own_.insert(variable);
  }
  for (const clang::Stmt* child : statement->children()) collect(child);
}

/// Marks the contents of hints, which the baseline does not evaluate.
void Reads::skip_hints(const clang::Stmt* statement, bool in_hint) {
  if (statement == nullptr) return;
  if (in_hint) skipped_.insert(statement);
  const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  in_hint = in_hint || (call != nullptr && Unit::is_hint(call));
  for (const clang::Stmt* child : statement->children()) skip_hints(child, in_hint);
}

/// Iterates over the function's graph until the facts at each block's start no longer change, then records the reads.
void Reads::walk(Frame& frame, const Facts& before) {
  const std::unique_ptr<clang::CFG> graph = flow_of(frame.function, unit_.ast);
  if (graph == nullptr) return;
  skip_hints(frame.function->getBody(), false);
  const auto go = [&](const clang::CFGBlock* block, Facts& facts) {
    for (const clang::CFGElement& element : *block) {
      const auto statement = element.getAs<clang::CFGStmt>();
      if (statement && skipped_.count(statement->getStmt()) == 0) pass(frame, statement->getStmt(), facts);
    }
  };
  // Blocks are numbered from the end to the start.
  std::map<unsigned, const clang::CFGBlock*, std::greater<>> work{{graph->getEntry().getBlockID(), &graph->getEntry()}};
  std::map<unsigned, Facts> starts{{graph->getEntry().getBlockID(), before}};
  std::map<unsigned, const clang::CFGBlock*, std::greater<>> reached = work;
  while (!work.empty()) {
    const auto [number, block] = *work.begin();
    work.erase(work.begin());
    Facts facts = starts[number];
    go(block, facts);
    for (const clang::CFGBlock::AdjacentBlock& edge : block->succs()) {
      const clang::CFGBlock* next = edge.getReachableBlock();
      if (next == nullptr) continue;
      reached[next->getBlockID()] = next;
      const auto [entry, is_new] = starts.try_emplace(next->getBlockID(), facts);
      if (is_new || keep_common(entry->second, facts)) work[next->getBlockID()] = next;
    }
  }
  frame.is_recording = true;
  for (const auto& [number, block] : reached) go(block, starts[number]);
}

/// Keeps only facts that also hold on the other path. Returns true if any fact was removed.
bool Reads::keep_common(Facts& facts, const Facts& others) {
  const size_t before = facts.size();
  for (auto at = facts.begin(); at != facts.end();) {
    at = others.count(at->first) != 0 ? std::next(at) : facts.erase(at);
  }
  return facts.size() != before;
}

void Reads::pass(Frame& frame, const clang::Stmt* statement, Facts& facts) {
  if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declared->decls()) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
      if (variable != nullptr) pass_change(frame, variable, variable->getInit(), facts);
    }
    return;
  }
  const bool in_item = frame.function != calling_.front() || inside_.count(statement) != 0;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (in_item && call != nullptr) {
    if (Unit::is_hint(call)) return pass_hint(frame, call, facts);
    return pass_call(frame, call, facts);
  }
  const clang::Expr* object = read_object(statement);
  if (in_item && object != nullptr) pass_read(frame, object, {object, nullptr}, facts);
  const auto* atomic = llvm::dyn_cast<clang::AtomicExpr>(statement);
  if (in_item && atomic != nullptr && !atomic->getType()->isVoidType()) {
    pass_read(frame, atomic, {nullptr, atomic->getPtr()}, facts);
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
      binary != nullptr && binary->isAssignmentOp()) {
    const bool is_plain = binary->getOpcode() == clang::BO_Assign;
    const clang::VarDecl* variable = named_variable(binary->getLHS());
    if (variable != nullptr) pass_change(frame, variable, is_plain ? binary->getRHS() : nullptr, facts);
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
      unary != nullptr && unary->isIncrementDecrementOp()) {
    const clang::VarDecl* variable = named_variable(unary->getSubExpr());
    if (variable != nullptr) pass_change(frame, variable, nullptr, facts);
  }
}

/// Handles a change of a variable: facts about places that mention it end. Facts about the assigned value now hold for
/// the variable.
void Reads::pass_change(Frame& frame, const clang::VarDecl* variable, const clang::Expr* value, Facts& facts) {
  Fact known;
  const bool is_pointer = value != nullptr && variable->getType()->isPointerType();
  if (is_pointer) {
    const auto found = facts.find(frame.places.place({nullptr, value}).text);
    if (found != facts.end()) known = found->second;
  }
  for (auto at = facts.begin(); at != facts.end();) {
    at = mentioned_[at->first].count(variable) != 0 ? facts.erase(at) : std::next(at);
  }
  if (known == Fact() || frame.places.value_of_variable(variable).variables.count(variable) == 0) return;
  Place place = frame.places.value_of_variable(variable);
  place.text.insert(0, "*");
  mentioned_[place.text] = place.variables;
  facts[place.text] = known;
}

void Reads::pass_hint(Frame& frame, const clang::CallExpr* hint, Facts& facts) {
  if (hint->getNumArgs() == 0) return;
  hints_.insert(hint);
  const Place place = frame.places.place(frame.places.hinted(hint));
  mentioned_[place.text] = place.variables;
  facts[place.text] = {hint, nullptr};
}

void Reads::pass_read(Frame& frame, const clang::Expr* access, const Object& object, Facts& facts,
                      const std::string& callee) {
  const std::vector<Object> objects = frame.places.around(object);
  if (objects.empty()) return;
  if (frame.is_recording) record(frame, access, objects, facts, callee);
  const Place place = frame.places.place(frame.places.in_one_line(objects));
  mentioned_[place.text] = place.variables;
  Fact& fact = facts[place.text];
  if (fact.read == nullptr) fact.read = access;
}

void Reads::record(Frame& frame, const clang::Expr* access, const std::vector<Object>& objects, const Facts& facts,
                   const std::string& callee) {
  Read read;
  read.access = access;
  read.function = frame.function;
  read.callee = callee;
  read.object = frame.places.in_one_line(objects);
  read.address = frame.places.place(read.object);
  read.in_sequence =
      llvm::any_of(objects, [&](const Object& object) { return frame.places.place(object).in_sequence; });
  read.same_for_all = !read.address.calls && llvm::none_of(read.address.variables, [this](const clang::VarDecl* part) {
    return own_.count(part) != 0 || (part->hasLocalStorage() && part->getParentFunctionOrMethod() != calling_.front());
  });
  const auto touched = facts.find(read.address.text);
  if (touched != facts.end()) read.earlier = touched->second.read;
  for (const Object& object : objects) {
    const auto found = facts.find(frame.places.place(object).text);
    if (found != facts.end() && found->second.hint != nullptr) read.hint = found->second.hint;
  }
  const auto [entry, is_new] = by_access_.try_emplace(access, nullptr);
  if (is_new) {
    reads_.push_back(read);
    entry->second = &reads_.back();
    return;
  }
  // Another call of the same function: keep only properties that hold for all calls.
  Read& known = *entry->second;
  if (read.hint == nullptr) known.hint = nullptr;
  if (read.earlier == nullptr) known.earlier = nullptr;
  known.in_sequence = known.in_sequence && read.in_sequence;
  known.same_for_all = known.same_for_all && read.same_for_all;
}

/// Returns the body of a called function if it belongs to the project and is not being analysed already.
const clang::FunctionDecl* Reads::body_of(const clang::CallExpr* call) const {
  const clang::FunctionDecl* function = call->getDirectCallee();
  const clang::FunctionDecl* definition = nullptr;
  if (function == nullptr || !function->hasBody(definition) || llvm::is_contained(calling_, definition)) return nullptr;
  const clang::SourceManager& sources = unit_.ast.getSourceManager();
  const bool is_systems = sources.isInSystemHeader(sources.getExpansionLoc(definition->getLocation()));
  return is_systems || definition->isDependentContext() ? nullptr : definition;
}

/// Analyses a function with a visible body using the facts at the call. A function without a body reads its arguments
/// according to their types.
void Reads::pass_call(Frame& frame, const clang::CallExpr* call, Facts& facts) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr) return;
  const clang::FunctionDecl* body = body_of(call);
  const bool is_member = llvm::isa<clang::CXXOperatorCallExpr>(call) && llvm::isa<clang::CXXMethodDecl>(callee);
  const unsigned first = is_member ? 1 : 0;
  std::map<const clang::VarDecl*, Place> arguments;
  for (unsigned i = 0; i < callee->getNumParams() && i + first < call->getNumArgs(); ++i) {
    const clang::Expr* argument = call->getArg(i + first);
    const clang::QualType type = callee->getParamDecl(i)->getType();
    const bool by_reference = type->isReferenceType() && argument->isLValue();
    if (body != nullptr && (by_reference || type->isScalarType())) {
      arguments[body->getParamDecl(i)] =
          by_reference ? frame.places.place({argument, nullptr}) : frame.places.value(argument);
    } else if (body == nullptr && !type->getPointeeType().isNull() && type->getPointeeType().isConstQualified()) {
      const clang::Expr* handed = plain_expression(argument);
      const Object object = by_reference ? Object{argument, nullptr} : Object{nullptr, handed};
      if (by_reference || type->isPointerType()) pass_read(frame, handed, object, facts, callee->getNameAsString());
    }
  }
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(call)) {
    const clang::Expr* object = member->getImplicitObjectArgument();
    const bool is_pointer = object->getType()->isPointerType();
    if (is_pointer || object->isLValue()) {
      Place self = is_pointer ? frame.places.value(object) : frame.places.place({object, nullptr});
      if (!is_pointer) self.text.insert(0, "&");
      arguments[nullptr] = self;
    }
  }
  if (body != nullptr && frame.is_recording && ++calls_ <= kMostCalls) {
    called_.insert(body);
    calling_.push_back(body);
    Frame inner(unit_, body, std::move(arguments), index_);
    walk(inner, facts);
    calling_.pop_back();
  }
  for (const clang::Expr* argument : call->arguments()) {
    const auto* address = llvm::dyn_cast<clang::UnaryOperator>(plain_expression(argument));
    const bool is_address = address != nullptr && address->getOpcode() == clang::UO_AddrOf;
    const bool by_reference = argument->isLValue() && !argument->getType().isConstQualified();
    if (!is_address && !by_reference) continue;
    const clang::VarDecl* variable = named_variable(is_address ? address->getSubExpr() : argument);
    if (variable != nullptr) pass_change(frame, variable, nullptr, facts);
  }
}

}  // namespace gopt
