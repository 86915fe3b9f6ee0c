//! Prints a scenario as resolved: `cargo run -p paceline-scenario --example resolve -- FILE [DATA_DIR] [PATH=VALUE]...`

use paceline_scenario::{Loader, Origin, load};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_default();
    let data = arguments.next().unwrap_or_default();
    let sets: Vec<_> = arguments
        .filter_map(|set| set.split_once('=').map(|(path, value)| (path.into(), value.into())))
        .collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return eprintln!("{file}: {error}"),
    };
    let folder =
        std::path::Path::new(&file).parent().map_or_else(Default::default, std::path::Path::to_path_buf);
    match load(&Origin { text: &text, file: &file, sets: &sets }, &Loader::new(folder, vec![data.into()])) {
        Ok(loaded) => {
            loaded.parts.warnings.iter().for_each(|warning| eprintln!("{warning}"));
            print!("{}", loaded.scenario.to_toml());
        }
        Err(error) => eprintln!("{error}"),
    }
}
