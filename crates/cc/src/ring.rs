//! The memory of packets in a row, found by their numbers.

use alloc::vec;
use alloc::vec::Vec;

const FIRST_ROOM: usize = 64;

/// A value for each of consecutive numbers, from the oldest that is remembered to the newest. Its memory is a power of two of
/// values, so that a number finds its place by its low bits.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    first: u64,
    next: u64,
}

impl<T: Copy> Ring<T> {
    /// Nothing is remembered yet; the first number will be `first`. `filler` lies where no value is.
    pub fn new(first: u64, filler: T) -> Ring<T> {
        Ring { slots: vec![filler; FIRST_ROOM], first, next: first }
    }

    /// The oldest number that is remembered; the next one if there is none.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number behind the newest.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many numbers are remembered.
    #[inline]
    pub fn len(&self) -> u64 {
        self.next - self.first
    }

    /// Whether nothing is remembered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The value of a number, if it is remembered.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&T> {
        if number.wrapping_sub(self.first) >= self.len() {
            return None;
        }
        self.slots.get(number as usize & (self.slots.len() - 1))
    }

    /// The value of a number, if it is remembered, to change it.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        if number.wrapping_sub(self.first) >= self.len() {
            return None;
        }
        let mask = self.slots.len() - 1;
        self.slots.get_mut(number as usize & mask)
    }

    /// The value of the oldest number.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// The value of [`Ring::next`], which is a number less than `u64::MAX`.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len() == self.slots.len() as u64 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        if let Some(slot) = self.slots.get_mut(self.next as usize & mask) {
            *slot = value;
            self.next += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        // Where all lie twice, each lies where its number belongs.
        self.slots.extend_from_within(..);
    }

    /// Forgets the oldest number.
    #[inline]
    pub fn pop(&mut self) {
        self.first = self.next.min(self.first + 1);
    }

    /// Forgets everything; the next number will be `first`.
    pub fn restart(&mut self, first: u64) {
        (self.first, self.next) = (first, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_with_their_numbers_while_it_grows_and_goes_round() {
        let mut ring = Ring::new(5, 0);
        assert!(ring.is_empty() && ring.front().is_none() && ring.get(5).is_none());
        for number in 5..1000 {
            assert_eq!(ring.next(), number);
            ring.push(10 * number);
            if number % 3 == 0 {
                ring.pop();
            }
            let known = ring.first()..ring.next();
            assert!(known.clone().all(|known| ring.get(known) == Some(&(10 * known))));
            assert_eq!(known.end - known.start, ring.len());
            assert!(ring.get(known.start - 1).is_none() && ring.get(known.end).is_none());
        }
        *ring.get_mut(999).expect("the newest") = 7;
        assert!(ring.get(999) == Some(&7) && ring.get_mut(1000).is_none());
        ring.restart(1 << 40);
        ring.pop();
        assert_eq!((ring.first(), ring.len(), ring.get(999)), (1 << 40, 0, None));
    }
}
