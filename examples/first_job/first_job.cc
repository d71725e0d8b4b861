#include <iostream>
#include <sstream>

#include "weir/api/stream_execution_environment.h"

struct WordCount {
  std::string word;
  int64_t count = 0;
  WEIR_FIELDS(word, count)
};

int main() {
  weir::StreamExecutionEnvironment env;
  env.setParallelism(2);
  env.fromCollection<std::string>({"to be or not to be", "that is the question"})
      .flatMap<WordCount>([](const std::string& line, weir::Collector<WordCount>& out) {
        std::istringstream words(line);
        for (std::string word; words >> word;) out.collect({word, 1});
      })
      .keyBy(&WordCount::word)
      .sum(&WordCount::count)
      .print();

  const auto result = env.execute("first job");
  if (result.has_value()) return 0;
  std::cerr << result.error().message << '\n';
  return 1;
}
