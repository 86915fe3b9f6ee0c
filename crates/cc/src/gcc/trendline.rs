//! The trendline estimator: the slope of the smoothed one-way delay over arrival time, by least squares. It took the Kalman
//! filter's place in libwebrtc.

use super::Params;
use super::groups::InterGroup;
use alloc::collections::VecDeque;

/// The estimator of one flow.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    window: usize,
    smoothing: f64,
    /// The delay relative to the first group's, ms.
    accumulated: f64,
    smoothed: f64,
    /// Arrival of the first group, ms.
    first_arrival: Option<i64>,
    /// Arrival and smoothed delay of the last groups, ms.
    points: VecDeque<(f64, f64)>,
    slope: f64,
}

impl Trendline {
    pub(super) fn new(params: &Params) -> Trendline {
        let window = params.trendline_window.max(2) as usize;
        Trendline {
            window,
            smoothing: params.trendline_smoothing,
            accumulated: 0.0,
            smoothed: 0.0,
            first_arrival: None,
            points: VecDeque::with_capacity(window),
            slope: 0.0,
        }
    }

    /// Forgets all groups: the estimate begins anew with the next.
    pub(super) fn forget(&mut self) {
        (self.accumulated, self.smoothed, self.first_arrival, self.slope) = (0.0, 0.0, None, 0.0);
        self.points.clear();
    }

    /// The slope after another group, ms per ms. `arrival`: when the packet after the group arrived, ms.
    pub(super) fn on_group(&mut self, group: &InterGroup, arrival: i64) -> f64 {
        let first = *self.first_arrival.get_or_insert(arrival);
        self.accumulated += group.delay_variation();
        self.smoothed = self.smoothing * self.smoothed + (1.0 - self.smoothing) * self.accumulated;
        if self.points.len() == self.window {
            self.points.pop_front();
        }
        self.points.push_back((arrival.saturating_sub(first) as f64, self.smoothed));
        if self.points.len() == self.window {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.slope
    }
}

/// The slope of the regression line, if not all points are at one abscissa.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (covariance, variance) = points.iter().fold((0.0, 0.0), |(covariance, variance), (x, y)| {
        (covariance + (x - mean_x) * (y - mean_y), variance + (x - mean_x) * (x - mean_x))
    });
    (variance != 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::TimeDelta;

    /// libwebrtc's unit tests of the estimator: without smoothing and with exact times the slope of a line is found exactly.
    #[test]
    fn the_slope_of_a_line_is_found() {
        let params = Params { trendline_smoothing: 0.0, ..Params::default() };
        for expected in [0.5, -1.0, 0.0] {
            let mut trendline = Trendline::new(&params);
            let (mut arrival, mut slope, departure) = (10_000, 0.0, TimeDelta::from_millis(20));
            for n in 0..40 {
                // Delay grows by `expected` per millisecond of arrival: arrival - departure = expected x arrival.
                let between = if expected < 0.0 { 10 } else { (20.0 / (1.0 - expected)) as i64 };
                arrival += between;
                let group =
                    InterGroup { departure, arrival: TimeDelta::from_millis(between), size_change: 0.0 };
                slope = trendline.on_group(&group, arrival);
                assert_eq!(
                    slope == 0.0,
                    n < 19 || expected == 0.0,
                    "it says nothing before its window is full"
                );
            }
            assert!((slope - expected).abs() < 1e-9, "{slope} for {expected}");
        }
    }

    #[test]
    fn points_at_one_time_have_no_slope() {
        let mut trendline = Trendline::new(&Params::default());
        let group =
            InterGroup { departure: TimeDelta::ZERO, arrival: TimeDelta::from_millis(1), size_change: 0.0 };
        let slope = (0..50).map(|_| trendline.on_group(&group, 5)).last();
        assert_eq!(slope, Some(0.0));
    }
}
