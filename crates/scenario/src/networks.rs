//! Named networks for `network = "NAME"` in a scenario's link: `networks.toml`, where each value stands beside its source.

use std::sync::LazyLock;
use toml_edit::{DocumentMut, Item};

/// A key of a link as a network has it.
#[derive(Clone, Debug)]
pub struct Given {
    /// Name of the key in `[links.NAME]`.
    pub key: String,
    /// Its value as TOML.
    pub value: String,
    /// Where it comes from: the paper's table and row, or that it is assumed.
    pub source: String,
    /// How it follows from the source, in a line.
    pub why: String,
}

/// A link under a name.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name in scenarios.
    pub name: String,
    /// Its description, in a line.
    pub help: String,
    /// Its keys of a link.
    pub keys: Vec<Given>,
}

impl Network {
    /// Its keys as TOML, for a table `[links.NAME]`.
    pub fn toml(&self) -> String {
        self.keys.iter().map(|given| format!("{} = {}\n", given.key, given.value)).collect()
    }
}

/// The named networks, in the order of the file.
pub static NETWORKS: LazyLock<Vec<Network>> = LazyLock::new(|| {
    // A test reads all of them: a slip in the file leaves none.
    let file: DocumentMut = include_str!("networks.toml").parse().unwrap_or_default();
    file.iter().map(|(name, network)| read(name, network)).collect()
});

fn read(name: &str, network: &Item) -> Network {
    let text = |item: &Item, key: &str| item.get(key).and_then(Item::as_str).unwrap_or_default().to_owned();
    let keys =
        network.as_table_like().into_iter().flat_map(|table| table.iter()).filter_map(|(key, given)| {
            let value = given.get("value")?.as_value()?.to_string().trim().to_owned();
            Some(Given { key: key.into(), value, source: text(given, "source"), why: text(given, "why") })
        });
    Network { name: name.into(), help: text(network, "help"), keys: keys.collect() }
}
