#include "weir/scenario/expression.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "expression_functions.h"
#include "weir/operators/nearest.h"

namespace weir {
namespace {

/// What is wrong, and at which byte of the text.
struct Mistake {
  size_t offset;
  std::string sentence;
};

struct Token {
  enum class Kind { kEnd, kNumber, kText, kWord, kSign };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t offset = 0;
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordChar(char c) { return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    const size_t begin = at_;
    if (at_ == text_.size()) return {Token::Kind::kEnd, "", begin};
    const char c = text_[at_];
    if (isDigit(c)) return number();
    if (c == '\'') return string();
    if (isWordChar(c)) {
      while (at_ < text_.size() && isWordChar(text_[at_])) ++at_;
      return {Token::Kind::kWord, std::string(text_.substr(begin, at_ - begin)), begin};
    }
    for (const std::string_view sign : {"<=", ">=", "!=", "<>", "==", "||", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", ","}) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      at_ += sign.size();
      const std::string_view known = sign == "==" ? "=" : sign == "<>" ? "!=" : sign;
      return {Token::Kind::kSign, std::string(known), begin};
    }
    if (c == '"') throw Mistake{begin, "text stands in single quotes: 'AA'"};
    throw Mistake{begin, fmt::format("'{}' means nothing here", c)};
  }

 private:
  Token number() {
    const size_t begin = at_;
    while (at_ < text_.size() && (isWordChar(text_[at_]) || text_[at_] == '.')) {
      const bool exponent = (text_[at_] == 'e' || text_[at_] == 'E') && at_ + 1 < text_.size();
      ++at_;
      if (exponent && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    }
    return {Token::Kind::kNumber, std::string(text_.substr(begin, at_ - begin)), begin};
  }
  Token string() {
    Token token{Token::Kind::kText, "", at_};
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '\'') {
        token.text += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
        token.text += '\'';
        ++at_;
      } else {
        ++at_;
        return token;
      }
    }
    throw Mistake{token.offset, "the text is not closed by a single quote"};
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// A parser by descent that checks types as it goes.
class Parser {
 public:
  Parser(std::string_view text, const Schema& schema) : lexer_(text), schema_(schema) { advance(); }

  ExpressionPointer all() {
    ExpressionPointer result = either();
    if (token_.kind != Token::Kind::kEnd) throw Mistake{token_.offset, fmt::format("'{}' is not expected here", token_.text)};
    return result;
  }

 private:
  static constexpr int kMaxDepth = 200;   // of brackets, calls and signs in the text
  static constexpr int kMaxHeight = 400;  // of what is computed: a + b + c + ... goes as deep as it is long

  void advance() { token_ = lexer_.next(); }
  bool isSign(std::string_view sign) const { return token_.kind == Token::Kind::kSign && token_.text == sign; }
  bool isWord(std::string_view word) const { return token_.kind == Token::Kind::kWord && token_.text == word; }
  bool takeSign(std::string_view sign) { return isSign(sign) && (advance(), true); }
  bool takeWord(std::string_view word) { return isWord(word) && (advance(), true); }
  void expectSign(std::string_view sign) {
    if (takeSign(sign)) return;
    throw Mistake{token_.offset, token_.kind == Token::Kind::kEnd ? fmt::format("a '{}' is missing at the end", sign)
                                                                  : fmt::format("a '{}' is expected, not '{}'", sign, token_.text)};
  }

  ExpressionPointer call(size_t offset, const std::string& name, std::vector<ExpressionPointer> arguments) {
    auto made = makeCall(name, std::move(arguments));
    if (made.has_error()) throw Mistake{offset, made.error().message};
    if ((*made)->height() > kMaxHeight)
      throw Mistake{offset, fmt::format("more than {} steps wait for one another here: make columns of some in a map before", kMaxHeight)};
    return *made;
  }
  /// left sign right sign right ... with the signs of one level.
  template <class Next>
  ExpressionPointer chain(std::initializer_list<std::string_view> signs, Next next) {
    ExpressionPointer left = (this->*next)();
    for (;;) {
      const Token sign = token_;
      bool found = false;
      for (const std::string_view s : signs) found = found || isSign(s) || isWord(s);
      if (!found) return left;
      advance();
      left = call(sign.offset, sign.text, {left, (this->*next)()});
    }
  }

  /// One of them, as a balanced tree: a list may be long.
  ExpressionPointer anyOf(size_t offset, std::span<const ExpressionPointer> tests) {
    if (tests.size() == 1) return tests[0];
    const size_t half = tests.size() / 2;
    return call(offset, "or", {anyOf(offset, tests.first(half)), anyOf(offset, tests.subspan(half))});
  }

  ExpressionPointer either() {
    if (++depth_ > kMaxDepth) throw Mistake{token_.offset, fmt::format("this is nested deeper than {} levels", kMaxDepth)};
    ExpressionPointer result = chain({"or"}, &Parser::both);
    --depth_;
    return result;
  }
  ExpressionPointer both() { return chain({"and"}, &Parser::negation); }
  ExpressionPointer negation() {
    const size_t offset = token_.offset;
    if (!takeWord("not")) return comparison();
    if (++depth_ > kMaxDepth) throw Mistake{offset, fmt::format("this is nested deeper than {} levels", kMaxDepth)};
    ExpressionPointer inner = negation();
    --depth_;
    return call(offset, "not", {inner});
  }

  ExpressionPointer comparison() {
    ExpressionPointer left = sum();
    const Token sign = token_;
    for (const std::string_view s : {"<", "<=", ">", ">=", "=", "!="})
      if (takeSign(s)) return call(sign.offset, sign.text, {left, sum()});
    if (takeWord("is")) {
      const bool negated = takeWord("not");
      if (!takeWord("null")) throw Mistake{token_.offset, "'null' or 'not null' is expected behind 'is'"};
      ExpressionPointer test = call(sign.offset, "is null", {left});
      return negated ? call(sign.offset, "not", {test}) : test;
    }
    const bool negated = takeWord("not");
    if (takeWord("in")) {
      std::vector<ExpressionPointer> tests;
      expectSign("(");
      do tests.push_back(call(sign.offset, "=", {left, either()}));
      while (takeSign(","));
      expectSign(")");
      const ExpressionPointer test = anyOf(sign.offset, tests);
      return negated ? call(sign.offset, "not", {test}) : test;
    }
    if (negated) throw Mistake{token_.offset, "'in' is expected behind 'not'"};
    return left;
  }

  ExpressionPointer sum() { return chain({"+", "-", "||"}, &Parser::product); }
  ExpressionPointer product() { return chain({"*", "/", "%"}, &Parser::sign); }
  ExpressionPointer sign() {
    const size_t offset = token_.offset;
    if (!takeSign("-")) return primary();
    if (token_.kind == Token::Kind::kNumber) return literal("-");
    if (++depth_ > kMaxDepth) throw Mistake{offset, fmt::format("this is nested deeper than {} levels", kMaxDepth)};
    ExpressionPointer inner = sign();
    --depth_;
    return call(offset, "negative", {inner});
  }

  ExpressionPointer literal(const std::string& minus) {
    const std::string text = minus + token_.text;
    const char* const end = text.data() + text.size();
    int64_t whole = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end) {
      advance();
      return makeLiteral(Value(whole), ColumnType::kLong);
    }
    double number = 0;
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || at != end) throw Mistake{token_.offset, fmt::format("'{}' is no number", text)};
    advance();
    return makeLiteral(Value(number), ColumnType::kDouble);
  }

  ExpressionPointer primary() {
    const Token token = token_;
    switch (token.kind) {
      case Token::Kind::kNumber: return literal("");
      case Token::Kind::kText: advance(); return makeLiteral(Value(token.text), ColumnType::kString);
      case Token::Kind::kWord: return word();
      case Token::Kind::kSign: break;
      case Token::Kind::kEnd: throw Mistake{token.offset, "the expression ends where a value is expected"};
    }
    if (!takeSign("(")) throw Mistake{token.offset, fmt::format("a value is expected, not '{}'", token.text)};
    ExpressionPointer inner = either();
    expectSign(")");
    return inner;
  }

  ExpressionPointer word() {
    const Token token = token_;
    advance();
    if (token.text == "true" || token.text == "false") return makeLiteral(Value(token.text == "true"), ColumnType::kBool);
    if (token.text == "null") throw Mistake{token.offset, "null is no value: write 'x is null', coalesce(x, y) or nullif(x, y)"};
    if (takeSign("(")) {
      std::vector<ExpressionPointer> arguments;
      if (!isSign(")")) {
        do arguments.push_back(either());
        while (takeSign(","));
      }
      expectSign(")");
      return call(token.offset, token.text, std::move(arguments));
    }
    if (const auto index = schema_.find(token.text)) return makeColumn(*index, schema_[*index]);
    const std::vector<std::string> names = schema_.names();
    const std::string close = nearest(token.text, names);
    throw Mistake{token.offset, close.empty() ? fmt::format("there is no column '{}'; there are {}", token.text, fmt::join(names, ", "))
                                              : fmt::format("there is no column '{}': did you mean '{}'?", token.text, close)};
  }

  Lexer lexer_;
  const Schema& schema_;
  Token token_;
  int depth_ = 0;
};

}  // namespace

Result<Expression> Expression::compile(std::string_view text, const Schema& schema, const Position& at) {
  try {
    return Expression(Parser(text, schema).all());
  } catch (const Mistake& mistake) {
    Position place = at;
    const size_t newline = text.substr(0, mistake.offset).rfind('\n');
    place.column += static_cast<int>(newline == std::string_view::npos ? mistake.offset : 0);
    return place.error(fmt::format("in \"{}\", column {}: {}", text, mistake.offset + 1, mistake.sentence));
  }
}

}  // namespace weir
