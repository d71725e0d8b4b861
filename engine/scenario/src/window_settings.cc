#include "window_settings.h"

#include "document.h"

namespace weir {
namespace {

WindowAssignerResult assignerOf(const WindowSpec& spec) {
  const Millis size(spec.sizeMillis), slide(spec.slideMillis), offset(spec.offsetMillis);
  switch (spec.kind) {
    case WindowSpec::Kind::kTumbling:
      return spec.eventTime ? TumblingEventTimeWindows::of(size, offset) : TumblingProcessingTimeWindows::of(size, offset);
    case WindowSpec::Kind::kSliding:
      return spec.eventTime ? SlidingEventTimeWindows::of(size, slide, offset) : SlidingProcessingTimeWindows::of(size, slide, offset);
    case WindowSpec::Kind::kSession:
      return spec.eventTime ? EventTimeSessionWindows::withGap(size) : ProcessingTimeSessionWindows::withGap(size);
    case WindowSpec::Kind::kCount: return GlobalWindows::create();
  }
  __builtin_unreachable();
}

}  // namespace

WindowSettings windowSettings(const WindowSpec& spec) {
  auto assigner = assignerOf(spec);
  if (assigner.has_error()) refuse(spec.at, assigner.error().message);
  WindowSettings settings;
  settings.assigner = *assigner;
  if (spec.kind == WindowSpec::Kind::kCount) settings.trigger = PurgingTrigger::of(CountTrigger::of(spec.sizeMillis));
  settings.allowedLateness = spec.latenessMillis;
  if (spec.late) settings.lateTag = spec.late->value;
  if (auto checked = settings.check(); checked.has_error()) refuse(spec.at, checked.error().message);
  return settings;
}

}  // namespace weir
