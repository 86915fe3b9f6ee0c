//! Columns: absent values and names.

use super::*;

#[test]
fn absent_values_are_bits_and_not_numbers() {
    let mut column = FloatColumn::default();
    for row in 0..19 {
        column.push((row % 3 != 0).then_some(f64::from(row)));
    }
    column.push(Some(f64::NAN));
    assert_eq!((column.values().len(), column.validity().len(), column.nulls()), (20, 3, 8));
    assert_eq!(
        (column.value(0), column.value(1), column.value(19), column.value(20)),
        (None, Some(1.0), None, None)
    );
    assert!(column.values().iter().all(|value| value.is_finite()));
    assert_eq!(column.validity()[0], 0b1011_0110);
}

#[test]
fn names_are_stored_once() {
    let mut column = TextColumn::new(vec!["a".into(), "b".into()]);
    [1, 0, 1].iter().for_each(|index| column.push(*index));
    assert_eq!((column.value(0), column.value(1), column.value(3)), (Some("b"), Some("a"), None));
}
