#include "weir/windowing/two_stage_windows.h"

namespace weir {

std::string whyNotInTwoStages(const WindowSettings& settings, bool evicts) {
  if (!settings.assigner) return "";  // a mistake that was told already
  const std::string name = settings.assigner->toString();
  if (!settings.assigner->isEventTime())
    return name + " go by processing time: the second stage would put the parts into other windows than the first; use event time";
  if (settings.assigner->isMerging())
    return name + " merge: the sessions of a part of the records are not those of the key; aggregate them in one stage";
  if (!settings.assigner->grid()) return name + " are no windows of a fixed size in event time; aggregate them in one stage";
  if (settings.trigger || evicts)
    return name + " have a trigger or an evictor of their own, which would see parts of the records; aggregate them in one stage";
  return "";
}

}  // namespace weir
