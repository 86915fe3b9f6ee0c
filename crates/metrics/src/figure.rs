//! How a figure is declared: one line says its name, its unit, what it is, who can know it and how it is aggregated.
//!
//! The lines stand in [`table`](crate::table). Columns, fields of the summary, the table on the terminal, the legends of
//! pictures and docs/figures.md follow from them.

use crate::recorder::{LinkSample, ReceiverSample, SenderSample};

/// The facts that an end of a flow can know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts(u16);

impl Facts {
    /// Nothing of what happens to packets.
    pub const NONE: Facts = Facts(0);
    /// How many packets leave the sender.
    pub const DEPARTURES: Facts = Facts(1);
    /// The sending end: its controller, send queue and frames.
    pub const SENDER: Facts = Facts(1 << 1);
    /// Which packets arrive and which are lost, seen or reported.
    pub const ARRIVALS: Facts = Facts(1 << 2);
    /// How much of a packet is payload.
    pub const PAYLOAD: Facts = Facts(1 << 3);
    /// The wait of packets in the queues of links.
    pub const LINK_QUEUES: Facts = Facts(1 << 4);
    /// Delay that noise adds.
    pub const NOISE: Facts = Facts(1 << 5);
    /// How the clocks of sender and receiver relate.
    pub const CLOCKS: Facts = Facts(1 << 6);
    /// Which frames are displayed.
    pub const DISPLAY: Facts = Facts(1 << 7);

    /// Every fact, its name and what it is.
    pub const NAMES: [(&'static str, Facts, &'static str); 8] = [
        ("departures", Facts::DEPARTURES, "how many packets leave the sender"),
        ("sender", Facts::SENDER, "the sending end: its controller, send queue and frames"),
        ("arrivals", Facts::ARRIVALS, "which packets arrive and which are lost, seen or reported"),
        ("payload", Facts::PAYLOAD, "how much of a packet is payload"),
        ("link queues", Facts::LINK_QUEUES, "what packets wait in the queues of links"),
        ("noise", Facts::NOISE, "what delay noise adds"),
        ("clocks", Facts::CLOCKS, "how the clocks of sender and receiver relate"),
        ("display", Facts::DISPLAY, "which frames are displayed"),
    ];

    /// Every end that records, with what it can know.
    pub const ENDS: [(&'static str, Facts); 7] = [
        ("simulator", Facts::ALL),
        ("sender, RTP", Facts::RTP_SENDER),
        ("sender, DCCP with Ack Vectors", Facts::ACK_VECTOR_SENDER),
        ("sender, DCCP with CCID 3", Facts::SENDER_ALONE),
        ("receiver on the sender's machine", Facts::RECEIVER.and(Facts::CLOCKS)),
        ("receiver elsewhere", Facts::RECEIVER),
        ("relay", Facts::RELAY),
    ];

    /// The simulator's facts: all.
    pub const ALL: Facts = Facts(u16::MAX);
    /// Facts of a sender that hears nothing of single packets.
    pub const SENDER_ALONE: Facts = Facts::SENDER.and(Facts::DEPARTURES);
    /// Facts of a sender that is told which packets arrived.
    pub const ACK_VECTOR_SENDER: Facts = Facts::SENDER_ALONE.and(Facts::ARRIVALS).and(Facts::PAYLOAD);
    /// Facts of a sender that is also told when packets arrived: their wait is their delay above the smallest.
    pub const RTP_SENDER: Facts = Facts::ACK_VECTOR_SENDER.and(Facts::LINK_QUEUES);
    /// Facts of a receiver that does not share the sender's clock.
    pub const RECEIVER: Facts = Facts::ARRIVALS.and(Facts::PAYLOAD).and(Facts::DISPLAY);
    /// Facts of a relay, which applies links to packets that it does not read.
    pub const RELAY: Facts = Facts::DEPARTURES.and(Facts::ARRIVALS).and(Facts::LINK_QUEUES).and(Facts::NOISE);

    /// These facts and others.
    pub const fn and(self, others: Facts) -> Facts {
        Facts(self.0 | others.0)
    }

    /// Whether these facts are enough for a figure that needs `needed`.
    pub const fn covers(self, needed: Facts) -> bool {
        self.0 & needed.0 == needed.0
    }
}

/// How a figure is made of what happens in the interval of a row, or in the window of the statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// Says which row or run it is.
    Key,
    /// The value at the end.
    Level,
    /// The amount over the time.
    Rate,
    /// The number of events.
    Count,
    /// A part of all.
    Share,
    /// The mean of the packets or frames.
    Mean,
    /// The mean over time.
    TimeAverage,
    /// The distribution over packets, frames or files.
    Distribution,
    /// The distribution over time.
    TimeDistribution,
    /// A group of several figures.
    Group,
}

impl Aggregate {
    /// The way of aggregation in words, for docs/figures.md.
    pub fn text(self) -> &'static str {
        match self {
            Aggregate::Key => "key",
            Aggregate::Level => "value at the end",
            Aggregate::Rate => "amount over time",
            Aggregate::Count => "count",
            Aggregate::Share => "share",
            Aggregate::Mean => "mean",
            Aggregate::TimeAverage => "mean over time",
            Aggregate::Distribution => "distribution",
            Aggregate::TimeDistribution => "distribution over time",
            Aggregate::Group => "group of figures",
        }
    }
}

/// Where the cells of a column come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    /// The row itself.
    Key,
    /// Sampled at the sender.
    Sender(fn(&SenderSample) -> Option<f64>),
    /// Sampled at the receiver.
    Receiver(fn(&ReceiverSample) -> Option<f64>),
    /// Lost packets of the interval, out of these and those that arrived: told apart from the samples, joined at the end.
    Losses,
    /// Sampled at the link.
    Link(fn(&LinkSample) -> Option<f64>),
}

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Name of the figure as column and as field of the summary.
    pub name: &'static str,
    /// Name of the figure for people.
    pub title: &'static str,
    /// Unit of the figure; empty for names and groups.
    pub unit: &'static str,
    /// Facts that an end needs for the figure.
    pub needs: Facts,
    /// Its definition, in a sentence.
    pub definition: &'static str,
    /// How the cells of its column are made, if it has one.
    pub column: Option<Aggregate>,
    /// How its field of the summary is made, if it has one.
    pub summary: Option<Aggregate>,
    /// Position in the table on the terminal, if the figure is shown there.
    pub shown: Option<u8>,
    pub(crate) cell: Option<Cell>,
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// Declares figures and the struct of those that a summary has.
macro_rules! fields {
    ($(#[$attribute:meta])* $Summary:ident {
        $($name:ident $title:literal [$unit:literal, $needs:expr] $definition:literal
            $(, column $of_interval:ident = $cell:expr)?
            $(, summary $of_window:ident: $type:ty $(= $value:expr)?)?
            $(, shown $place:literal)?;)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, PartialEq, Debug, Serialize)]
        pub struct $Summary {
            $($(#[doc = $definition] pub $name: $type,)?)*
        }

        impl $Summary {
            /// Every figure, those that are only columns in.
            pub const FIGURES: &'static [Figure] = &[$(Figure {
                name: stringify!($name),
                title: $title,
                unit: $unit,
                needs: $needs,
                definition: $definition,
                column: optional!($(Aggregate::$of_interval)?),
                summary: optional!($(Aggregate::$of_window)?),
                shown: optional!($($place)?),
                cell: optional!($($cell)?),
            },)*];
        }
    };
}

/// The same, with how each field is measured: what the recorder's end cannot know is absent.
macro_rules! figures {
    ($(#[$attribute:meta])* $Summary:ident of $Recorder:ty { $($lines:tt)* }) => {
        fields! { $(#[$attribute])* $Summary { $($lines)* } }
        measured! { $Summary of $Recorder { $($lines)* } }
    };
}

macro_rules! measured {
    ($Summary:ident of $Recorder:ty {
        $($name:ident $title:literal [$unit:literal, $needs:expr] $definition:literal
            $(, column $of_interval:ident = $cell:expr)?
            $(, summary $of_window:ident: $type:ty = $value:expr)?
            $(, shown $place:literal)?;)*
    }) => {
        impl $Summary {
            pub(crate) fn of(recorder: &$Recorder, facts: Facts) -> $Summary {
                $Summary {
                    $($($name: {
                        let measure: fn(&$Recorder) -> $type = $value;
                        if facts.covers($needs) { measure(recorder) } else { Default::default() }
                    },)?)*
                }
            }
        }
    };
}
