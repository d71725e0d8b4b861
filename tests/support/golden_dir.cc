#include "support/golden_dir.h"

namespace weir::golden {

std::string folder() { return WEIR_GOLDEN_DIR; }

}  // namespace weir::golden
