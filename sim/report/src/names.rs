//! Places for names beside dots: no name lies on a dot, on a bar or on another name.

/// From a dot to its name.
const OFF: f64 = 12.0;
/// Half the height of a name, with the air that it needs.
const HALF: f64 = 7.5;
/// Half the width of a dot or a bar, with air.
const AROUND: f64 = 5.0;
/// From one height at which a name is tried to the next.
const STEP: f64 = 3.0;
/// Between a name and the upper or lower end of the frame.
const MARGIN: f64 = 10.0;
/// How far a name may reach beyond the right end of the frame.
const OVER: f64 = 4.0;
/// What a leader to the left costs more than one to the right: as much as these pixels up or down.
const LEFT: f64 = 4.0;

/// A dot with its bar and the length of its name, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// Horizontal place of the dot.
    pub x: f64,
    /// Vertical place of the dot; down is larger.
    pub y: f64,
    /// Upper end of its bar.
    pub high: f64,
    /// Lower end of its bar.
    pub low: f64,
    /// Length of its name.
    pub long: f64,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name {
    /// The end of the name that is nearer to its dot.
    pub x: f64,
    /// The height of its middle.
    pub y: f64,
    /// Whether it ends at `x`, at the left of its dot; otherwise it begins there.
    pub ends: bool,
}

/// A rectangle: left, right, upper and lower end.
#[derive(Clone, Copy, Debug)]
struct Area([f64; 4]);

impl Area {
    fn meets(&self, other: &Area) -> bool {
        let Area([left, right, high, low]) = *self;
        let Area([a, b, c, d]) = *other;
        left < b && a < right && high < d && c < low
    }

    /// Whether a name of this area stands within a frame.
    fn is_within(&self, [left, right, high, low]: [f64; 4]) -> bool {
        let Area([a, b, c, d]) = *self;
        a >= left && b <= right + OVER && c >= high + MARGIN - HALF && d <= low - MARGIN + HALF
    }
}

impl Dot {
    fn area(&self) -> Area {
        Area([
            self.x - AROUND,
            self.x + AROUND,
            self.high.min(self.y - AROUND),
            self.low.max(self.y + AROUND),
        ])
    }

    fn named(&self, name: &Name) -> Area {
        let (left, right) = if name.ends {
            (name.x - self.long, name.x)
        } else {
            (name.x, name.x + self.long)
        };
        Area([left, right, name.y - HALF, name.y + HALF])
    }
}

/// A name for each dot within a frame (left, right, upper and lower end), as near to its dot as
/// others leave room; `None` where one finds no place.
///
/// **Cost**: the square of the number of dots, for each of about a hundred heights.
pub fn beside(dots: &[Dot], frame: [f64; 4]) -> Option<Vec<Name>> {
    let [.., high, low] = frame;
    let mut taken: Vec<Area> = dots.iter().map(Dot::area).collect();
    let mut found = Vec::with_capacity(dots.len());
    for dot in dots {
        let heights = (0..=((low - high) / STEP) as u32)
            .flat_map(|step| [-STEP, STEP].map(|up| up * f64::from(step)));
        let mut tried: Vec<(f64, Name)> = heights
            .flat_map(|up| {
                [(false, OFF, 0.0), (true, -OFF, LEFT)]
                    .map(|(ends, off, more)| (ends, off, more, up))
            })
            .map(|(ends, off, more, up)| {
                (
                    up.abs() + more,
                    Name {
                        x: dot.x + off,
                        y: dot.y + up,
                        ends,
                    },
                )
            })
            .collect();
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let name = tried.into_iter().map(|(_, name)| name).find(|name| {
            let area = dot.named(name);
            area.is_within(frame) && !taken.iter().any(|other| other.meets(&area))
        })?;
        taken.push(dot.named(&name));
        found.push(name);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [f64; 4] = [0.0, 300.0, 0.0, 180.0];

    /// Ten methods, the best first, as the utility figure of a default run has them at the width of
    /// a column.
    fn ten() -> Vec<Dot> {
        let of = [
            (0.85, 0.17, 60.0),
            (1.3, 0.2, 20.0),
            (1.7, 0.4, 45.0),
            (1.9, 0.3, 45.0),
            (2.2, 0.4, 70.0),
        ];
        let rest = [
            (2.3, 0.4, 75.0),
            (3.0, 0.5, 120.0),
            (5.5, 0.9, 80.0),
            (5.6, 0.9, 15.0),
            (6.8, 1.0, 80.0),
        ];
        let dot = |(place, (regret, error, long)): (usize, (f64, f64, f64))| {
            let at = |regret: f64| 170.0 - 21.0 * regret;
            Dot {
                x: 15.0 + 30.0 * place as f64,
                y: at(regret),
                high: at(regret + error),
                low: at(regret - error),
                long,
            }
        };
        of.into_iter().chain(rest).enumerate().map(dot).collect()
    }

    /// Names that lie on a dot, on a bar or on another name.
    fn overlaps(dots: &[Dot], names: &[Name]) -> usize {
        let areas: Vec<Area> = dots
            .iter()
            .zip(names)
            .map(|(dot, name)| dot.named(name))
            .collect();
        let on_dots = areas
            .iter()
            .map(|area| dots.iter().filter(|dot| dot.area().meets(area)).count())
            .sum::<usize>();
        let on_names = |i: usize| {
            areas[i + 1..]
                .iter()
                .filter(|other| other.meets(&areas[i]))
                .count()
        };
        on_dots + (0..areas.len()).map(on_names).sum::<usize>()
    }

    #[test]
    fn no_name_lies_on_a_dot_a_bar_or_another_name() {
        let dots = ten();
        let names = beside(&dots, FRAME).unwrap();
        assert_eq!((names.len(), overlaps(&dots, &names)), (10, 0), "{names:?}");
        let inside = |area: Area| {
            area.0[0] >= 0.0 && area.0[1] <= 304.0 && area.0[2] >= 0.0 && area.0[3] <= 180.0
        };
        assert!(
            dots.iter()
                .zip(&names)
                .all(|(dot, name)| inside(dot.named(name))),
            "{names:?}"
        );
        // Near its own: no name is further from its dot than a third of the frame.
        assert!(
            dots.iter()
                .zip(&names)
                .all(|(dot, name)| (dot.y - name.y).abs() <= 60.0),
            "{names:?}"
        );
        // Negative control: at the dots' own heights they do overlap.
        let plain: Vec<Name> = dots
            .iter()
            .map(|dot| Name {
                x: dot.x + OFF,
                y: dot.y,
                ends: false,
            })
            .collect();
        assert!(overlaps(&dots, &plain) > 3);
        // Too many for the frame: none is placed, and the key remains.
        let crowd = vec![
            Dot {
                long: 290.0,
                ..dots[0]
            };
            40
        ];
        assert_eq!(beside(&crowd, FRAME), None);
    }
}
