#!/usr/bin/env bash
# Fuzzes every target, or those named, for SECONDS_EACH (default 20) seconds each: with cargo-fuzz where it is
# installed (coverage-guided; on nightly with AddressSanitizer, else on stable without), and with the smoke driver
# where it is not. FUZZ=smoke forces the latter; FUZZ=nightly and FUZZ=stable fail rather than fall back.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${SECONDS_EACH:-20}
mode=${FUZZ:-}
if [ -z "$mode" ]; then
    if ! cargo fuzz --version >/dev/null 2>&1 || ! command -v c++ >/dev/null; then
        mode=smoke
    elif rustc +nightly --version >/dev/null 2>&1; then
        mode=nightly
    else
        mode=stable
    fi
fi
if [ $# -eq 0 ]; then
    for file in fuzz_targets/*.rs; do
        set -- "$@" "$(basename "$file" .rs)"
    done
fi

fuzz() { # COMMAND... TARGET
    mkdir -p "corpus/${!#}" "seeds/${!#}"
    "$@" "corpus/${!#}" "seeds/${!#}" -- "-max_total_time=$seconds" -max_len=4096 -timeout=5 \
        -rss_limit_mb=2048 -print_final_stats=1 -verbosity="${VERBOSITY:-0}"
}

for target in "$@"; do
    echo "== $target: $mode, $seconds s"
    case $mode in
    nightly) fuzz cargo +nightly fuzz run "$target" ;;
    # Coverage instrumentation is unstable, its code is in every compiler; sanitizers come with nightly only.
    stable) RUSTC_BOOTSTRAP=1 fuzz cargo fuzz run --sanitizer none "$target" ;;
    smoke)
        # What this target plays is private in its crate: the tests there play its seeds, changed seeds and
        # noise. The whole workspace is named, so that they are the tests that `make test` compiled.
        if [ "$target" = rtp_session ]; then
            cargo test --workspace --quiet --locked --lib script::
        else
            cargo run --quiet --locked --bin "$target" -- --seconds "$seconds"
        fi
        ;;
    *) echo "FUZZ=$mode: expected nightly, stable or smoke" >&2; exit 2 ;;
    esac
done
