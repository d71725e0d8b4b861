#pragma once

#include "document.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// One entry of `job:`. Throws Refused.
NodeSpec readNode(const DocumentNode& name, const DocumentNode& body);

/// Parts of it.
SourceSpec readSource(const MappingReader& body);
std::vector<std::string> sourceWords(const DocumentNode& body);
WindowSpec readWindow(const DocumentNode& node);
std::vector<AggregateSpec> readAggregates(const DocumentNode& node, std::optional<TwoStageSpec>& twoStage);
TwoStageSpec readTwoStage(const DocumentNode& node);

Located<std::string> readExpression(const DocumentNode& node, std::string_view what);
Located<std::string> readName(const DocumentNode& node, std::string_view what);

}  // namespace weir
