//! Prints the C header: `make docs` writes it into `crates/capi/include/paceline.h`.

use std::io;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let builder = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs"));
    builder.generate()?.write(io::stdout());
    Ok(())
}
