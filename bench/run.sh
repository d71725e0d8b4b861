#!/usr/bin/env bash
# run.sh BUILD [NAME]: runs the benchmarks whose name matches NAME (all without), each behind the canary and its limit programs.
# `./dev bench` builds and calls it. NAME may also be a limit program's name. Results as JSON: BUILD/results/.
set -euo pipefail
build=$(realpath "$1"); pattern=${2:-}
results=$build/results
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
mkdir -p "$results"

limit() { # PROGRAM [ARGUMENT ...]
  local program=$1; shift
  local arguments=("$@")
  if [ ${#arguments[@]} -eq 0 ] || [ "$program ${arguments[0]}" = "shapes rocks" ]; then
    case $program in # these write files
      rocks) arguments=("$scratch/rocks") ;;
      disk) arguments=("$scratch") ;;
      shapes) arguments=("${arguments[@]:-sum}"); [ "${arguments[0]}" != rocks ] || arguments+=("$scratch/rocks") ;;
    esac
  fi
  echo "## limit: $program ${arguments[*]:-}"
  "$build/bin/limit_$program" "${arguments[@]}"
}

ran=0
if [ -n "$pattern" ] && [ -x "$build/bin/limit_$pattern" ]; then
  "$build/bin/limit_canary"; limit "$pattern"; ran=1
fi
commit=$(git -C "$(dirname "$0")" rev-parse --short HEAD 2>/dev/null || echo unknown)
while IFS='|' read -r name limits; do
  [[ -n $name && $name =~ $pattern ]] || continue
  ran=1
  echo "# $name"
  "$build/bin/limit_canary" # shows the state of a shared machine: read the numbers below with it
  IFS=',' read -ra programs <<<"$limits"
  for program in "${programs[@]}"; do read -ra words <<<"$program"; limit "${words[@]}"; done
  "$build/bin/$name" --benchmark_repetitions=5 --benchmark_display_aggregates_only=true --benchmark_context=commit="$commit" \
    --benchmark_out="$results/$name-$(date -u +%Y%m%dT%H%M%SZ).json" --benchmark_out_format=json
done <"$build/bench/programs.txt"
[ $ran -eq 1 ] || { echo "no benchmark or limit program matches '$pattern'" >&2; exit 2; }
