//! Quantities are read and written exactly.

use super::*;
use proptest::prelude::*;

#[test]
fn texts_of_the_contract_are_read_exactly() {
    assert_eq!(Dimension::Time.parse("47.74s"), Ok(47_740_000_000));
    assert_eq!(Dimension::Time.parse(" 100 ms "), Ok(100_000_000));
    assert_eq!(Dimension::Rate.parse("0.3Mbps"), Ok(300_000));
    assert_eq!(Dimension::Size.parse("1.5kB"), Ok(1_500));
    assert_eq!(Dimension::Time.parse("1e6s"), Ok(1_000_000_000_000_000));
    assert_eq!(Dimension::Time.parse("25E-1 ms"), Ok(2_500_000));
    assert_eq!(Dimension::Rate.parse("2.5e+6bps"), Ok(2_500_000));
    assert_eq!(Dimension::Size.parse("0e99B"), Ok(0));
    assert_eq!(Dimension::Time.parse("1.0_5s"), Ok(1_050_000_000));
    assert_eq!(
        (parse_ticks("1/1024s"), parse_ticks("1ms"), parse_ticks("3ms")),
        (Some(1024), Some(1000), None)
    );
}

#[test]
fn what_is_no_quantity_is_refused() {
    let malformed = Err(QuantityError::Malformed);
    assert_eq!(Dimension::Rate.parse("20 Mbqs"), malformed);
    assert_eq!(Dimension::Rate.parse("20Mbit/s"), malformed);
    assert_eq!(Dimension::Rate.parse("20"), malformed);
    assert_eq!(Dimension::Size.parse("1EB"), malformed);
    for text in ["1es", "1e+s", "e6s", "1e6", "1e1.5s", "1e6_0s", "1e9999999999s"] {
        assert_eq!(Dimension::Time.parse(text), malformed, "{text}");
    }
    assert_eq!(Dimension::Time.parse("1e7s"), Err(QuantityError::TooLarge));
    assert_eq!(Dimension::Time.parse("1e999s"), Err(QuantityError::TooLarge));
    assert_eq!(Dimension::Time.parse("1e-10s"), Err(QuantityError::Fraction));
    assert_eq!(Dimension::Size.parse("-1e3B"), Err(QuantityError::Negative));
    assert_eq!(Dimension::Time.parse("fast"), malformed);
    assert_eq!(Dimension::Time.parse(""), malformed);
    assert_eq!(Dimension::Time.parse("1.s"), malformed);
    assert_eq!(Dimension::Rate.parse("-1bps"), Err(QuantityError::Negative));
    assert_eq!(Dimension::Size.parse("1.5B"), Err(QuantityError::Fraction));
    assert_eq!(Dimension::Time.parse("1000001s"), Err(QuantityError::TooLarge));
    assert_eq!((parse_ticks("/s"), parse_ticks("0s"), parse_ticks("1/1024")), (None, None, None));
}

#[test]
fn units_of_other_names_are_converted() {
    let meant = |dimension: Dimension, text: &str| Some(dimension.format(dimension.meant(text)?.ok()?));
    for (text, expected) in [
        ("20Mbit/s", "20Mbps"),
        ("20 Mb/s", "20Mbps"),
        ("20mbps", "20Mbps"),
        ("20MBPS", "20Mbps"),
        ("20M", "20Mbps"),
        ("5 MB/s", "40Mbps"),
        ("5MBps", "40Mbps"),
        ("1.5 kB/s", "12kbps"),
        ("1 MiB/s", "8.388608Mbps"),
        ("5Tbps", "5000Gbps"),
        ("300 kbits/s", "300kbps"),
        ("1 Byte/s", "8bps"),
    ] {
        assert_eq!(meant(Dimension::Rate, text).as_deref(), Some(expected), "{text}");
    }
    for (text, expected) in [
        ("5min", "300s"),
        ("1.5 h", "5400s"),
        ("2 days", "172800s"),
        ("10msec", "10ms"),
        ("3 \u{b5}s", "3us"),
        ("1 Second", "1s"),
    ] {
        assert_eq!(meant(Dimension::Time, text).as_deref(), Some(expected), "{text}");
    }
    for (text, expected) in [
        ("2GB", "2000MB"),
        ("64KiB", "65536B"),
        ("1 Mbit", "125kB"),
        ("10 K", "10kB"),
        ("1500 bytes", "1500B"),
    ] {
        assert_eq!(meant(Dimension::Size, text).as_deref(), Some(expected), "{text}");
    }
    assert_eq!(Dimension::Rate.meant("20 Mbqs"), None);
    assert_eq!(Dimension::Rate.meant("20ms"), None);
    assert_eq!(Dimension::Rate.meant("20"), None);
    assert_eq!(Dimension::Rate.meant("5EBps"), Some(Err(QuantityError::TooLarge)));
    assert_eq!(Dimension::Size.meant("3 bits"), Some(Err(QuantityError::Fraction)));
    assert_eq!(Dimension::Time.meant("fast"), Some(Err(QuantityError::Malformed)));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in 0u64..1_000_000_000_000_000) {
        for dimension in [Dimension::Time, Dimension::Rate, Dimension::Size] {
            let value = value.min(dimension.max());
            prop_assert_eq!(dimension.parse(&dimension.format(value)), Ok(value));
        }
    }

    #[test]
    fn reading_never_panics(text in "\\PC*") {
        for dimension in [Dimension::Time, Dimension::Rate, Dimension::Size] {
            let _ = (dimension.parse(&text), dimension.meant(&text));
        }
        let _ = parse_ticks(&text);
    }
}
