//! Names that a wrong one was perhaps meant to be.

use super::{ParamError, Spec};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The most names that a message says all.
const SHORT_LIST: usize = 12;

/// The names in `known` that are like `found` in at least half of their letters, the nearest first, at most `most`.
fn near<'n>(found: &str, known: &[&'n str], most: usize) -> Vec<&'n str> {
    let length = found.chars().count();
    let mut near: Vec<_> = known
        .iter()
        .map(|name| (distance(found, name), *name))
        .filter(|(distance, name)| 2 * distance <= name.chars().count().max(length))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The name in `known` that `found` was most likely meant to be; none if no name is near.
pub fn nearest<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    known
        .into_iter()
        .map(|name| (distance(found, name), name))
        .filter(|&(distance, name)| distance <= 1.max(name.chars().count() / 3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// The right in place of a `noun` that is none of `known`: all, if they are few or nothing else lists them, or else the nearest.
pub fn expected(noun: &str, found: &str, known: &[&str], listed: Option<&str>) -> String {
    match (listed, &near(found, known, 3)[..]) {
        (Some(listed), []) if known.len() > SHORT_LIST => format!("a {noun} that {listed} has"),
        (Some(listed), near) if known.len() > SHORT_LIST => {
            format!("a {noun} such as {}; {listed} has all", near.join(", "))
        }
        _ => format!("one of the {noun}s {}", known.join(", ")),
    }
}

/// The error of a parameter that is none of `specs`, which `listed` shows if it is said.
pub fn unknown<'s>(
    name: &str,
    specs: impl IntoIterator<Item = &'s Spec>,
    listed: Option<&str>,
) -> ParamError {
    let known: Vec<_> = specs.into_iter().map(|spec| spec.name).collect();
    let expected = expected("parameter", name, &known, listed) + &hint(name, known.iter().copied());
    ParamError::new(name, "an unknown parameter", expected)
}

/// The end of a message about a name that is none of `known`: the nearest of them, if one is near.
pub fn hint<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(found, known).map_or(String::new(), |name| format!("; did you mean {name}?"))
}

/// How many letters have to come, go, change or change places with the next one to make one text of the other, in lower case: the optimal
/// string alignment.
fn distance(one: &str, other: &str) -> usize {
    let [one, other] = [one, other].map(|text| text.to_ascii_lowercase().chars().collect::<Vec<_>>());
    let (mut last, mut row) = (Vec::new(), (0..=other.len()).collect::<Vec<_>>());
    for (i, letter) in one.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, beside) in other.iter().enumerate() {
            let least = (row[j] + usize::from(letter != beside)).min(row[j + 1] + 1).min(next[j] + 1);
            let swapped = i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *beside;
            next.push(if swapped { least.min(last[j - 1] + 1) } else { least });
        }
        (last, row) = (row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_go_change_and_swap() {
        let pairs = [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("ABC", "abc", 0),
            ("kitten", "sitting", 3),
            ("strat", "start", 1),
        ];
        for (one, other, expected) in pairs {
            assert_eq!((distance(one, other), distance(other, one)), (expected, expected), "{one} {other}");
        }
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("durration", ["duration", "warmup"]), Some("duration"));
        assert_eq!(nearest("SCREAM", ["fixed", "scream"]), Some("scream"));
        assert_eq!(nearest("zebra", ["duration", "warmup"]), None);
        let known = ["start", "stop", "start_within", "path", "playout"];
        assert_eq!(near("strat", &known, 3), ["start"]);
        assert_eq!(near("start_with", &known, 3), ["start_within", "start"]);
        assert_eq!(near("zebra", &known, 3), [""; 0]);
    }

    #[test]
    fn a_long_list_is_not_said_whole() {
        let known: Vec<_> =
            "gain pace rate beta loss mss ecn l4s fps most least start target".split(' ').collect();
        for (found, listed, right) in [
            ("gains", Some("the list"), "a key such as gain; the list has all"),
            ("zebra", Some("the list"), "a key that the list has"),
            ("zebra", None, "one of the keys gain, pace, rate, beta"),
        ] {
            assert!(expected("key", found, &known, listed).starts_with(right), "{found} {listed:?}");
        }
        assert_eq!(
            expected("key", "gains", &["gain", "rate"], Some("the list")),
            "one of the keys gain, rate"
        );
    }
}
