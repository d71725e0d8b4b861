#include "weir/scenario/job_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "document.h"
#include "row_operators.h"
#include "row_sources.h"

namespace weir {
namespace {

using Kind = NodeSpec::Kind;

/// A stream of the job and what is known of its rows.
struct Stream {
  DataStream<Row> rows;
  Schema schema;
  std::vector<size_t> key;  ///< what `exchange: hash` takes where no key is named
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
  template <class Made>
  Made& settings(Made& made, const NodeSpec& node, const std::string& name) {
    made.name(name).uid(node.uid ? (name == node.name.value ? *node.uid : *node.uid + "-" + name) : name);
    if (node.parallelism) made.setParallelism(*node.parallelism);
    if (node.maxParallelism) made.setMaxParallelism(*node.maxParallelism);
    if (node.cost) made.cost(Nanos(node.cost->nanosPerRecord), node.cost->spin ? CostMode::kSpin : CostMode::kSleep);
    return made;
  }
  void put(const NodeSpec& node, DataStream<Row> rows, Schema schema, std::vector<size_t> key) {
    settings(rows, node, node.name.value);
    built_.schemas[node.name.value] = schema;
    streams_.emplace(node.name.value, Stream{std::move(rows), std::move(schema), std::move(key)});
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
    put(node, env_.fromSource(RowGenerator(spec, *keys), node.name.value, rateOf(spec)), std::move(schema), {0});
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
    put(node, env_.fromSource(std::move(reader), node.name.value, rateOf(spec)), schema, {});
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
    put(node, std::move(rows), Schema(columns), {});
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
    put(node, std::move(rows), input.schema, input.key);
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
    if (node.window || node.twoStage) refuse(node.name.at, "windows and two stages are not run by this version");
    const Stream& input = stream(node.inputs[0]);
    const std::vector<size_t> key = keyOf(node, input, node.inputs[0]);
    std::vector<Column> columns;
    for (const size_t column : key) columns.push_back(input.schema[column]);
    const RowAggregate aggregate = aggregateOf(node, input, columns);
    auto rows = keyedBy(input.rows, key).transform<Row>("Aggregate", Batching::kBatches, [key, aggregate](OperatorSetup setup) {
      return std::make_unique<RowAggregateOperator>(std::move(setup), RowKeySelector(key), aggregate, heapKeyedStateBackend<RowKey>());
    });
    put(node, std::move(rows), Schema(columns), firstColumns(key.size()));
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
    put(node, all.transform<Row>("Union", Batching::kBatches, [parts](OperatorSetup setup) {
          return std::make_unique<RowMapOperator>(std::move(setup), parts);
        }),
        Schema(columns), stream(node.inputs[0]).key);
  }
  static std::string describeColumns(const Schema& schema) {
    std::string text;
    for (const Column& column : schema.columns()) text += (text.empty() ? "" : ", ") + column.name + ": " + column.typeText();
    return text;
  }

  void addJoin(const NodeSpec& node) { refuse(node.name.at, "joins are not run by this version"); }

  // ---- sinks --------------------------------------------------------------------------------------------------------------------
  void addSink(const NodeSpec& node) {
    const Schema& schema = stream(node.inputs[0]).schema;
    const DataStream<Row> rows = exchanged(node, node.inputs[0]);
    DataStreamSink sink = sinkOf(node, rows, schema);
    built_.schemas[node.name.value] = schema;
    settings(sink, node, node.name.value);
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
      auto result = std::make_shared<CollectResult<Row>>();
      built_.printed[node.name.value] = result;
      return rows.sinkTo("Print", Batching::kBatches, CollectSink<Row>(result));
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
