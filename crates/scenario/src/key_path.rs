//! Dotted paths of keys, such as `links.bottleneck.rate`.

/// The keys of a dotted path; none if it is no path.
pub(crate) fn path_keys(path: &str) -> Vec<String> {
    let keys = toml_edit::Key::parse(path).unwrap_or_default();
    keys.iter().map(|key| key.get().to_string()).collect()
}

/// A dotted path with its keys quoted only where they must be.
pub(crate) fn dotted(keys: &[String]) -> String {
    keys.iter().map(|key| quoted_key(key)).collect::<Vec<_>>().join(".")
}

/// A key as a dotted path spells it: quoted only if it must be.
pub(crate) fn quoted_key(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.into() } else { toml::Value::String(key.replace(['\n', '\r'], " ")).to_string() }
}
