//! Which component is next, of those that go on one by one.

use paceline_units::Time;

/// A tournament over the times of the components' next events: the first is at hand, and a new time costs as many comparisons
/// as the tree is high.
#[derive(Debug)]
pub struct Schedule {
    /// The first of each node's half of the components, and when. The root is at 1, the components' own times are in the second
    /// half.
    nodes: Vec<(Time, u32)>,
}

impl Schedule {
    /// A tournament of so many components, none of which has anything to do.
    pub fn new(components: usize) -> Schedule {
        let leaves = components.next_power_of_two().max(2);
        Schedule { nodes: vec![(Time::MAX, u32::MAX); 2 * leaves] }
    }

    /// A component is next at `time` from now on.
    pub fn set(&mut self, component: usize, time: Time) {
        let mut node = self.nodes.len() / 2 + component;
        self.nodes[node] = (time, component as u32);
        while node > 1 {
            let least = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = least;
        }
    }

    /// When the first component is next, and its number; at equal times the least number.
    pub fn first(&self) -> (Time, usize) {
        let (time, component) = self.nodes[1];
        (time, component as usize)
    }

    /// When the first of the components beside [`Schedule::first`] is next.
    pub fn second(&self) -> Time {
        let mut node = self.nodes.len() / 2 + self.first().1;
        let mut least = Time::MAX;
        while node > 1 {
            least = least.min(self.nodes[node ^ 1].0);
            node /= 2;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_two_are_those_of_a_sorted_list(sets in prop::collection::vec((0usize..13, 0u64..9), 1..80)) {
            let mut schedule = Schedule::new(13);
            let mut times: Vec<_> = (0..13).map(|component| (Time::MAX, component)).collect();
            for (component, time) in sets {
                times[component].0 = Time::from_nanos(time);
                schedule.set(component, times[component].0);
                let mut sorted = times.clone();
                sorted.sort();
                prop_assert_eq!((schedule.first(), schedule.second()), (sorted[0], sorted[1].0));
            }
        }
    }
}
