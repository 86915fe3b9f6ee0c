//! Writes Tmix's alternate format, which ns-2 and ns-3 read, and which says of every wait what it counts from.

use super::read::counted_as;
use super::{ConnectionVectors, Side, Wait};
use alloc::string::String;
use core::fmt::Write as _;

impl ConnectionVectors {
    /// The vectors as a file of the alternate format; times are cut to microseconds. Its first lines say how many
    /// connections and data units there are, so that a reader notices wherever it was cut.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "# Number of Cvecs: {}", self.len())?;
        writeln!(out, "# Number of ADUs: {}", self.data_units())?;
        for vector in self.iter() {
            let (mut counted, mut before) = ([0; 2], None);
            for unit in &vector.units {
                if let Some(place) = counted_as(vector.concurrent, before, unit) {
                    counted[place] += 1;
                }
                before = Some(unit.side);
            }
            let start = vector.start.as_nanos() / 1000;
            match vector.concurrent {
                true => writeln!(out, "C {start} {} {} 0 {}", counted[0], counted[1], vector.id)?,
                false => writeln!(out, "S {start} {} 0 {}", counted[0], vector.id)?,
            }
            if let Some([initiator, acceptor]) = vector.mss {
                writeln!(out, "m {} {}", initiator.as_u64(), acceptor.as_u64())?;
            }
            writeln!(out, "w {} {}", vector.windows[0].as_u64(), vector.windows[1].as_u64())?;
            writeln!(out, "r {}", vector.rtt.as_nanos() / 1000)?;
            writeln!(out, "l {:.6} {:.6}", vector.loss[0], vector.loss[1])?;
            for unit in &vector.units {
                let side = if unit.side == Side::Initiator { "I" } else { "A" };
                let (sent, received) = match unit.wait {
                    Wait::AfterSent(wait) => (wait.as_nanos() / 1000, 0),
                    Wait::AfterReceived(wait) => (0, wait.as_nanos() / 1000),
                };
                writeln!(out, "{side} {sent} {received} {}", unit.size.as_u64())?;
            }
        }
        Ok(())
    }
}
