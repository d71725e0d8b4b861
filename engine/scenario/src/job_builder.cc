#include "weir/scenario/job_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "document.h"
#include "node_settings.h"
#include "row_operators.h"
#include "row_sources.h"
#include "window_streams.h"

namespace weir {
namespace {

using Kind = NodeSpec::Kind;

/// A stream of the job and what is known of its rows.
struct Stream {
  DataStream<Row> rows;
  Schema schema;
  std::vector<size_t> key;  ///< what `exchange: hash` takes where no key is named
  int32_t parallelism = 1;
};

class JobBuilder {
 public:
  JobBuilder(const ScenarioFile& file, StreamExecutionEnvironment& env, FileSystem& files, const BuildOptions& options)
      : file_(file), env_(env), files_(files), options_(options) {}

  BuiltJob build() {
    for (const NodeSpec& node : file_.job) add(node);
    if (unknownSize_) built_.inputRecords = 0;
    return std::move(built_);
  }

 private:
  void add(const NodeSpec& node) {
    switch (node.kind) {
      case Kind::kSource: return addSource(node);
      case Kind::kMap: return addMap(node);
      case Kind::kFilter: return addFilter(node);
      case Kind::kAggregate: return addAggregate(node);
      case Kind::kUnion: return addUnion(node);
      case Kind::kJoin: return addJoin(node);
      case Kind::kSink: return addSink(node);
    }
  }

  // ---- what all operators have ------------------------------------------------------------------------------------------------
  void put(const NodeSpec& node, DataStream<Row> rows, Schema schema, std::vector<size_t> key) {
    putAs(node.name.value, node, std::move(rows), std::move(schema), std::move(key));
  }
  void putAs(const std::string& name, const NodeSpec& node, DataStream<Row> rows, Schema schema, std::vector<size_t> key) {
    built_.schemas[name] = schema;
    streams_.emplace(name, Stream{std::move(rows), std::move(schema), std::move(key), node.parallelism.value_or(env_.getParallelism())});
  }
  /// An operator that has the name of its stream.
  DataStream<Row> named(const NodeSpec& node, DataStream<Row> rows) const {
    applySettings(rows, node);
    applyCost(rows, node);
    return rows;
  }
  const Stream& stream(const Located<std::string>& name) const { return streams_.at(name.value); }

  size_t columnOf(const Located<std::string>& name, const Schema& schema, const std::string& what) const {
    if (const auto found = schema.find(name.value)) return *found;
    refuse(name.at, fmt::format("{} has no column '{}'{}", what, name.value, suggestion(name.value, schema.names())));
  }
  /// The columns that `node` keys its input by.
  std::vector<size_t> keyOf(const NodeSpec& node, const Stream& input, const Located<std::string>& inputName) const {
    std::vector<size_t> key;
    for (const auto& column : node.key) {
      const size_t index = columnOf(column, input.schema, "'" + inputName.value + "'");
      if (std::find(key.begin(), key.end(), index) != key.end()) refuse(column.at, fmt::format("the key has '{}' twice", column.value));
      key.push_back(index);
    }
    if (key.empty()) key = input.key;
    if (key.empty())
      refuse(node.name.at, fmt::format("'{}' needs 'key', the column or columns of '{}' to group by", node.name.value, inputName.value));
    return key;
  }
  DataStream<Row> keyedBy(const DataStream<Row>& rows, const std::vector<size_t>& key) const {
    return rows.partitioned(std::make_shared<KeyedEdge<Row, RowKeySelector>>(RowKeySelector(key)));
  }
  /// The input as the exchange of an operator without keyed state wants it.
  DataStream<Row> exchanged(const NodeSpec& node, const Located<std::string>& inputName) const {
    const Stream& input = stream(inputName);
    if (!node.key.empty() && node.exchange != Exchange::kHash)
      refuse(node.key.front().at, fmt::format("'{}' has a key and no 'exchange: hash' to use it", node.name.value));
    switch (node.exchange) {
      case Exchange::kDefault: return input.rows;
      case Exchange::kForward: return input.rows.forward();
      case Exchange::kHash: return keyedBy(input.rows, keyOf(node, input, inputName));
      case Exchange::kRebalance: return input.rows.rebalance();
      case Exchange::kRescale: return input.rows.rescale();
      case Exchange::kShuffle: return input.rows.shuffle();
      case Exchange::kBroadcast: return input.rows.broadcast();
      case Exchange::kGlobal: return input.rows.global();
    }
    __builtin_unreachable();
  }
  Expression compile(const Located<std::string>& text, const Schema& schema) const {
    auto compiled = Expression::compile(text.value, schema, text.at);
    if (compiled.has_error()) throw Refused{compiled.error()};
    return *compiled;
  }

  // ---- sources ------------------------------------------------------------------------------------------------------------------
  void addSource(const NodeSpec& node) {
    const SourceSpec& spec = node.source;
    std::vector<Column> columns;
    for (const auto& column : spec.columns) columns.push_back(column.value);
    Schema schema(columns);
    switch (spec.kind) {
      case SourceSpec::Kind::kCsv: return addFile<CsvFormat>(node, schema);
      case SourceSpec::Kind::kJsonLines: return addFile<JsonLinesFormat>(node, schema);
      case SourceSpec::Kind::kGenerator: break;
    }
    auto keys = KeyDistribution::create(spec.keys, file_, files_);
    if (keys.has_error()) throw Refused{keys.error()};
    built_.inputRecords += spec.records;
    unknownSize_ |= spec.records == 0;
    putSource(node, env_.fromSource(RowGenerator(spec, *keys), node.name.value, rateOf(spec)), std::move(schema), {0});
  }
  template <class Format>
  void addFile(const NodeSpec& node, const Schema& schema) {
    const SourceSpec& spec = node.source;
    std::optional<size_t> timestamp;
    if (spec.timestampColumn) timestamp = columnOf(*spec.timestampColumn, schema, "'" + node.name.value + "'");
    RowFileSource<Format> reader(file_.beside(spec.path.value), schema, timestamp,
                                 spec.skipBadRows ? BadRows::kSkipAndCount : BadRows::kFail);
    if (auto valid = reader.validate(files_); valid.has_error()) refuse(spec.path.at, valid.error().message);
    built_.badRows[node.name.value] = reader.badRowCounter();
    unknownSize_ = true;
    putSource(node, env_.fromSource(std::move(reader), node.name.value, rateOf(spec)), schema, {});
  }
  void putSource(const NodeSpec& node, const DataStream<Row>& source, Schema schema, std::vector<size_t> key) {
    DataStream<Row> rows = named(node, source);
    if (node.source.timestampColumn) rows = withWatermarks(rows, node.source, node, node.source.everyRecordWatermarks);
    put(node, std::move(rows), std::move(schema), std::move(key));
  }
  double rateOf(const SourceSpec& spec) const { return spec.rate.value_or(options_.recordsPerSecond); }

  // ---- operators ----------------------------------------------------------------------------------------------------------------
  void addMap(const NodeSpec& node) {
    const Stream& input = stream(node.inputs[0]);
    auto parts = std::make_shared<std::vector<RowMapOperator::Part>>();
    std::vector<Column> columns;
    if (node.keepColumns) {
      for (size_t i = 0; i < input.schema.size(); ++i) {
        columns.push_back(input.schema[i]);
        parts->push_back({i, std::nullopt});
      }
    }
    for (const auto& [name, text] : node.map) {
      const Expression expression = compile(text, input.schema);
      const Column column{name.value, expression.type(), expression.nullable()};
      const auto same = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name.value; });
      if (same == columns.end()) {
        columns.push_back(column);
        parts->push_back({std::nullopt, expression});
      } else {
        *same = column;
        (*parts)[static_cast<size_t>(same - columns.begin())] = {std::nullopt, expression};
      }
    }
    auto rows = exchanged(node, node.inputs[0]).transform<Row>("Map", Batching::kBatches, [parts](OperatorSetup setup) {
      return std::make_unique<RowMapOperator>(std::move(setup), parts);
    });
    // Where the columns stay, so does the key that they were partitioned by.
    const bool keyStays = node.keepColumns && std::all_of(input.key.begin(), input.key.end(), [&](size_t i) { return (*parts)[i].column; });
    put(node, named(node, std::move(rows)), Schema(columns), keyStays ? input.key : std::vector<size_t>());
  }

  void addFilter(const NodeSpec& node) {
    const Stream& input = stream(node.inputs[0]);
    const Expression expression = compile(node.filter, input.schema);
    if (expression.type() != ColumnType::kBool)
      refuse(node.filter.at,
             fmt::format("the filter \"{}\" is a {}, expected is true or false", node.filter.value, toString(expression.type())));
    auto rows = exchanged(node, node.inputs[0]).transform<Row>("Filter", Batching::kBatches, [expression](OperatorSetup setup) {
      return std::make_unique<RowFilterOperator>(std::move(setup), expression);
    });
    put(node, named(node, std::move(rows)), input.schema, input.key);
  }

  RowAggregate aggregateOf(const NodeSpec& node, const Stream& input, std::vector<Column>& columns) const {
    RowAggregate aggregate;
    for (const AggregateSpec& spec : node.aggregates) {
      std::optional<size_t> column;
      if (spec.column) column = columnOf(*spec.column, input.schema, "'" + node.inputs[0].value + "'");
      const std::string known = ColumnAggregate::parameterOf(spec.function.value);
      double parameter = ColumnAggregate::defaultParameterOf(spec.function.value);
      for (const auto& [name, value] : spec.parameters) {
        if (name != known)
          refuse(value.at, known.empty() ? fmt::format("{} takes no '{}'", spec.function.value, name)
                                         : fmt::format("{} takes '{}', not '{}'", spec.function.value, known, name));
        parameter = value.value;
      }
      auto created = ColumnAggregate::create(spec.function.value, column, input.schema, parameter);
      if (created.has_error()) refuse(spec.function.at, created.error().message);
      if (std::any_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == spec.name.value; }))
        refuse(spec.name.at, fmt::format("the result has two columns '{}': name this one {{other_name: {{{}: ...}}}}", spec.name.value,
                                         spec.function.value));
      columns.push_back({spec.name.value, created->resultType(), created->resultNullable()});
      aggregate.aggregates.push_back(std::move(*created));
    }
    return aggregate;
  }

  void addAggregate(const NodeSpec& node) {
    if (node.exchange != Exchange::kDefault && node.exchange != Exchange::kHash)
      refuse(node.name.at, fmt::format("'{}' aggregates by key: its exchange is hash", node.name.value));
    const Stream& input = stream(node.inputs[0]);
    Aggregation aggregation;
    aggregation.key = keyOf(node, input, node.inputs[0]);
    aggregation.window = node.window;
    std::vector<Column> columns;
    for (const size_t column : aggregation.key) columns.push_back(input.schema[column]);
    if (hasWindowBounds(node.window)) {
      for (const char* bound : {"window_start", "window_end"}) columns.push_back({bound, ColumnType::kTimestamp, false});
    }
    aggregation.aggregate = aggregateOf(node, input, columns);
    checkMerging(node, aggregation.aggregate);
    Parts parts{node, input, std::move(aggregation), std::move(columns)};
    if (!node.twoStage) return addOneStage(parts);
    if (node.window && !node.window->eventTime && node.twoStage->form == TwoStageSpec::Form::kAccumulators)
      refuse(node.twoStage->at,
             fmt::format("'{}' cannot go into two stages: its windows close by {}, which each subtask sees on its own; use "
                         "windows in event time",
                         node.name.value, node.window->kind == WindowSpec::Kind::kCount ? "count" : "the clock"));
    switch (node.twoStage->form) {
      case TwoStageSpec::Form::kAccumulators: return addTwoStages(parts);
      case TwoStageSpec::Form::kSaltInSelector:
        parts.aggregation.randomSalts = node.twoStage->salts;
        parts.columns.insert(parts.columns.begin() + static_cast<ptrdiff_t>(parts.aggregation.key.size()),
                             {"salt", ColumnType::kInt, false});
        return addOneStage(parts);
      default: return addNaive(parts);
    }
  }

  struct Parts {
    const NodeSpec& node;
    const Stream& input;
    Aggregation aggregation;
    std::vector<Column> columns;
  };

  void checkMerging(const NodeSpec& node, const RowAggregate& aggregate) const {
    const bool merges = node.window && node.window->kind == WindowSpec::Kind::kSession;
    const bool twoStages = node.twoStage && node.twoStage->form == TwoStageSpec::Form::kAccumulators;
    for (size_t i = 0; i < aggregate.aggregates.size(); ++i) {
      if (aggregate.aggregates[i].traits().mergeable || (!merges && !twoStages)) continue;
      refuse(node.aggregates[i].function.at,
             fmt::format("{} cannot be merged from parts, as {}: use one stage{}", node.aggregates[i].function.value,
                         twoStages ? "two stages do" : "sessions do", merges ? " and windows of a fixed size" : ""));
    }
  }

  void putLate(const Parts& parts, const DataStream<Row>& late) {
    putAs(parts.node.window->late->value, parts.node, late, parts.input.schema, parts.input.key);
  }
  void addOneStage(const Parts& parts) {
    DataStream<Row> rows = aggregateInOneStage(parts.input.rows, parts.aggregation, parts.node);
    applyCost(rows, parts.node);
    if (parts.node.window && parts.node.window->late) putLate(parts, rows.getSideOutput(OutputTag<Row>{parts.node.window->late->value}));
    put(parts.node, std::move(rows), Schema(parts.columns), firstColumns(parts.aggregation.key.size()));
  }
  void addTwoStages(const Parts& parts) {
    std::optional<DataStream<Row>> late;
    NodeSpec node = parts.node;
    if (!node.window && node.twoStage->flushRecords == 0 && node.twoStage->flushMillis == 0) {
      node.twoStage->flushRecords = 10'000;
      node.twoStage->flushMillis = 1000;
    }
    DataStream<Row> rows = aggregateInTwoStages(parts.input.rows, parts.aggregation, node, parts.input.parallelism,
                                                hotKeysOf(parts), late);
    if (late) putLate(parts, *late);
    put(parts.node, std::move(rows), Schema(parts.columns), firstColumns(parts.aggregation.key.size()));
  }
  std::vector<RowKey> hotKeysOf(const Parts& parts) const {
    std::vector<RowKey> keys;
    if (parts.node.twoStage->hotKeys.empty()) return keys;
    const Column& column = parts.input.schema[parts.aggregation.key[0]];
    if (parts.aggregation.key.size() > 1 || (column.type != ColumnType::kString && column.type != ColumnType::kLong))
      refuse(parts.node.twoStage->at, "hot keys can be listed where the key is one column of text or of long; find them by 'share'");
    for (const std::string& text : parts.node.twoStage->hotKeys) {
      RowKey& key = keys.emplace_back();
      if (column.type == ColumnType::kString) {
        key.first = text;
        continue;
      }
      int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size())
        refuse(parts.node.twoStage->at, fmt::format("the hot key '{}' is no whole number", text));
      key.first = number;
    }
    return keys;
  }

  // ---- two stages as they are often written by hand ------------------------------------------------------------------------------
  /// What a second stage makes of the results of the first.
  static std::string secondFunction(const std::string& function) {
    if (function == "count" || function == "distinct" || function == "distinct-sketch") return "sum";
    if (function == "variance" || function == "stddev" || function == "percentile" || function == "exponential-average") return "avg";
    return function == "top" ? "collect" : function;
  }

  void addNaive(const Parts& parts) {
    using Form = TwoStageSpec::Form;
    const NodeSpec& node = parts.node;
    const Form form = node.twoStage->form;
    const bool asText = form == Form::kStringKeys || form == Form::kSaltInKey;
    const size_t keys = parts.aggregation.key.size();
    if (asText && (keys > 1 || parts.input.schema[parts.aggregation.key[0]].type != ColumnType::kString))
      refuse(node.twoStage->at, "keys such as 3|AA are made from one column of text");
    if (form == Form::kMixedTime && (!node.window || node.window->kind == WindowSpec::Kind::kCount))
      refuse(node.twoStage->at, "mixed-time needs windows of time");

    DataStream<Row> rows = saltInTurn(parts.input.rows, node.twoStage->salts, node, parts.input.parallelism);
    Aggregation first = parts.aggregation;
    if (asText) {
      rows = mapped(rows, asTextKey(first.key[0], parts.input.schema.size(), parts.input.schema), node, "-key", parts.input.parallelism);
    } else {
      first.key.push_back(parts.input.schema.size());
    }
    rows = aggregateInOneStage(rows, first, node, "-local");
    applyCost(rows, node);
    if (node.window && node.window->late) {
      const DataStream<Row> salted = rows.getSideOutput(OutputTag<Row>{node.window->late->value});
      const Schema& input = parts.input.schema;
      const RowMap plain = asText ? withoutSalt(input, first.key[0], input.size()) : replacing(input, input.size(), "", input.size());
      putLate(parts, mapped(salted, plain, node, "-late", 0));
    }

    std::vector<Column> columns = parts.columns;  // of the first stage
    if (!asText) columns.insert(columns.begin() + static_cast<ptrdiff_t>(keys), {"salt", ColumnType::kInt, false});
    if (form == Form::kStringKeys) rows = mapped(rows, withoutSalt(Schema(columns), 0, columns.size()), node, "-unsalt", 0);
    put(node, secondStage(parts, rows, columns), Schema(parts.columns), firstColumns(keys));
  }

  DataStream<Row> secondStage(const Parts& parts, const DataStream<Row>& rows, const std::vector<Column>& columns) const {
    Aggregation second;
    second.key = firstColumns(parts.aggregation.key.size());
    second.window = parts.node.window;
    if (second.window) second.window->late.reset();
    if (parts.node.twoStage->form == TwoStageSpec::Form::kMixedTime) {
      second.window->eventTime = false;
      second.window->latenessMillis = 0;
    }
    const size_t firstAggregate = columns.size() - parts.aggregation.aggregate.aggregates.size();
    for (size_t i = firstAggregate; i < columns.size(); ++i) {
      const std::string& function = parts.node.aggregates[i - firstAggregate].function.value;
      const std::string then = secondFunction(function);
      auto created = ColumnAggregate::create(then, i, Schema(columns), ColumnAggregate::defaultParameterOf(then));
      if (created.has_error()) refuse(parts.node.aggregates[i - firstAggregate].function.at, created.error().message);
      second.aggregate.aggregates.push_back(*created);
    }
    return aggregateInOneStage(rows, second, parts.node);
  }

  using RowMap = std::shared_ptr<const std::vector<RowMapOperator::Part>>;
  DataStream<Row> mapped(DataStream<Row> rows, const RowMap& parts, const NodeSpec& node, const std::string& suffix,
                         int32_t parallelism) const {
    auto made = rows.transform<Row>("Map", Batching::kBatches, [parts](OperatorSetup setup) {
      return std::make_unique<RowMapOperator>(std::move(setup), parts);
    });
    applySettings(made, node, suffix);
    if (parallelism > 0) made.setParallelism(parallelism);
    return made;
  }
  /// The key as 3|AA.
  RowMap asTextKey(size_t key, size_t salt, const Schema& input) const {
    std::vector<Column> columns = input.columns();
    columns.push_back({"salt", ColumnType::kInt, false});
    return replacing(Schema(columns), key, "string(salt) || '|' || " + input[key].name, salt);
  }
  /// What stands behind the first |.
  RowMap withoutSalt(const Schema& columns, size_t column, size_t count) const {
    const std::string& key = columns[column].name;
    return replacing(columns, column, "substring(" + key + ", length(split_part(" + key + ", '|', 1)) + 2)", count);
  }
  /// The first `count` columns of rows, one of them by an expression; `column` behind them: none.
  RowMap replacing(const Schema& schema, size_t column, const std::string& text, size_t count) const {
    auto parts = std::make_shared<std::vector<RowMapOperator::Part>>();
    for (size_t i = 0; i < count; ++i) {
      if (i == column)
        parts->push_back({std::nullopt, compile({text, {file_.file, 1, 1}}, schema)});
      else
        parts->push_back({i, std::nullopt});
    }
    return parts;
  }

  static std::vector<size_t> firstColumns(size_t count) {
    std::vector<size_t> columns(count);
    for (size_t i = 0; i < count; ++i) columns[i] = i;
    return columns;
  }

  void addUnion(const NodeSpec& node) {
    std::vector<Column> columns = stream(node.inputs[0]).schema.columns();
    for (const auto& name : node.inputs) {
      const Schema& other = stream(name).schema;
      bool same = other.size() == columns.size();
      for (size_t i = 0; same && i < columns.size(); ++i) {
        same = columns[i].name == other[i].name && columns[i].type == other[i].type;
        columns[i].nullable |= other[i].nullable;
      }
      if (!same)
        refuse(name.at, fmt::format("'{}' and '{}' have different columns ({} and {}): a map makes them alike", node.inputs[0].value,
                                    name.value, describeColumns(stream(node.inputs[0]).schema), describeColumns(other)));
    }
    auto parts = std::make_shared<std::vector<RowMapOperator::Part>>();
    for (size_t i = 0; i < columns.size(); ++i) parts->push_back({i, std::nullopt});
    DataStream<Row> all = exchanged(node, node.inputs[0]);
    for (size_t i = 1; i < node.inputs.size(); ++i) all = all.unionWith(exchanged(node, node.inputs[i]));
    auto rows = all.transform<Row>("Union", Batching::kBatches, [parts](OperatorSetup setup) {
      return std::make_unique<RowMapOperator>(std::move(setup), parts);
    });
    put(node, named(node, std::move(rows)), Schema(columns), stream(node.inputs[0]).key);
  }
  static std::string describeColumns(const Schema& schema) {
    std::string text;
    for (const Column& column : schema.columns()) text += (text.empty() ? "" : ", ") + column.name + ": " + column.typeText();
    return text;
  }

  void addJoin(const NodeSpec& node) {
    const Stream &left = stream(node.join.left), &right = stream(node.join.right);
    const std::vector<size_t> leftKey = keyOf(node, left, node.join.left), rightKey = keyOf(node, right, node.join.right);
    for (size_t i = 0; i < std::min(leftKey.size(), rightKey.size()); ++i) {
      const Column &one = left.schema[leftKey[i]], &two = right.schema[rightKey[i]];
      if (one.type != two.type || leftKey.size() != rightKey.size())
        refuse(node.name.at, fmt::format("'{}' joins by keys of different types: '{}' is a {}, '{}' a {}", node.name.value, one.name,
                                         toString(one.type), two.name, toString(two.type)));
    }
    std::vector<Column> columns = left.schema.columns();
    for (Column column : right.schema.columns()) {
      const auto taken = [&] {
        return std::any_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column.name; });
      };
      while (taken()) column.name = "right_" + column.name;
      columns.push_back(column);
    }
    DataStream<Row> rows = node.window ? joinInWindows(left.rows, right.rows, leftKey, rightKey, node)
                                       : joinByTime(left.rows, right.rows, leftKey, rightKey, node);
    applyCost(rows, node);
    put(node, std::move(rows), Schema(columns), leftKey);
  }

  // ---- sinks --------------------------------------------------------------------------------------------------------------------
  void addSink(const NodeSpec& node) {
    const Schema& schema = stream(node.inputs[0]).schema;
    const DataStream<Row> rows = exchanged(node, node.inputs[0]);
    DataStreamSink sink = sinkOf(node, rows, schema);
    built_.schemas[node.name.value] = schema;
    applySettings(sink, node);
    applyCost(sink, node);
  }
  DataStreamSink sinkOf(const NodeSpec& node, DataStream<Row> rows, const Schema& schema) {
    switch (node.sink) {
      case NodeSpec::Sink::kDiscard:
        return rows.sinkTo("Discard", Batching::kBatches, [](OperatorSetup setup) {
          return std::make_unique<BatchSinkOperator<Row, RowDiscardSink>>(std::move(setup), RowDiscardSink());
        });
      case NodeSpec::Sink::kPrint: return printSink(node, rows, schema);
      case NodeSpec::Sink::kCsv:
      case NodeSpec::Sink::kJsonLines: break;
    }
    const std::string folder = file_.beside(node.path.value);
    if (auto valid = validateSinkDirectory(files_, folder); valid.has_error()) refuse(node.path.at, valid.error().message);
    const RowFileFormat format = node.sink == NodeSpec::Sink::kCsv ? RowFileFormat::kCsv : RowFileFormat::kJsonLines;
    return rows.sinkTo("Files", Batching::kBatches, [format, folder, schema](OperatorSetup setup) {
      return std::make_unique<RowFileSinkOperator>(std::move(setup), format, folder, schema);
    });
  }
  DataStreamSink printSink(const NodeSpec& node, DataStream<Row> rows, const Schema& schema) {
    if (options_.collectPrints) {
      auto result = std::make_shared<TransactionalCollectResult<Row>>();
      built_.printed[node.name.value] = result;
      if (options_.stampPrints) {
        rows = rows.transform<Row>("Stamp", Batching::kBatches,
                                   [](OperatorSetup setup) { return std::make_unique<RowStampOperator>(std::move(setup)); });
        applySettings(rows, node, "-stamp");
      }
      return rows.sinkTo("Print", Batching::kBatches, TransactionalCollectSink<Row>(result).ignoreEarlierRuns());
    }
    // One print sink needs no name in front of its lines.
    const auto prints = std::count_if(file_.job.begin(), file_.job.end(),
                                      [](const NodeSpec& n) { return n.kind == Kind::kSink && n.sink == NodeSpec::Sink::kPrint; });
    const RowPrintSink sink(PrintStream::standardOutput(), schema, prints > 1 ? node.name.value + "> " : "");
    return rows.sinkTo("Print", Batching::kBatches, [sink](OperatorSetup setup) {
      return std::make_unique<BatchSinkOperator<Row, RowPrintSink>>(std::move(setup), sink);
    });
  }

  const ScenarioFile& file_;
  StreamExecutionEnvironment& env_;
  FileSystem& files_;
  const BuildOptions& options_;
  std::map<std::string, Stream> streams_;
  BuiltJob built_;
  bool unknownSize_ = false;
};

}  // namespace

Result<BuiltJob> buildJob(const ScenarioFile& file, StreamExecutionEnvironment& env, FileSystem& files, const BuildOptions& options) {
  try {
    return JobBuilder(file, env, files, options).build();
  } catch (const Refused& refused) {
    return refused.error;
  }
}

}  // namespace weir
