#include "sim/simulation.h"

#include <gtest/gtest.h>

namespace weir::sim {
namespace {

TEST(ExactlyOnce, HoldsInALinearPipelineUnderFailures) { checkSeeds(20, {.linear = true}); }

}  // namespace
}  // namespace weir::sim
