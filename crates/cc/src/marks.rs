//! Growth under L4S of senders that are steered by a rate.

/// The part of the rate by which it grows in a second, of one that would grow by `per_second`: where that is more than `most` in `response`
/// seconds it is less, but still the more the lower the rate is, so that flows become equal.
pub(crate) fn bounded_growth(per_second: f64, most: f64, response: f64) -> f64 {
    per_second.min(libm::sqrt(most / response * per_second).min(1.0 / response))
}

#[cfg(test)]
mod tests {
    use super::bounded_growth;

    #[test]
    fn growth_is_as_it_is_up_to_the_most_and_then_the_root_of_the_product() {
        let grown = [1.0, 2.0, 8.0, 1000.0].map(|per_second| bounded_growth(per_second, 0.2, 0.1));
        assert_eq!(grown, [1.0, 2.0, 4.0, 10.0]);
    }
}
