//! Prints docs/figures.md: `make docs` keeps it.

fn main() {
    print!("{}", paceline_metrics::page());
}
