//! Colours that can be read: the accent that the operator chose, on the backgrounds of pages and mails.

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub [u8; 3]);

/// The contrast that WCAG 2.2 asks of text.
const CONTRAST: f64 = 4.5;

impl Colour {
    /// Black.
    pub const BLACK: Self = Self([0; 3]);
    /// White.
    pub const WHITE: Self = Self([0xff; 3]);

    /// The colour in CSS, such as `#2b5cd9`.
    pub fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The colour of text on this background: black or white.
    pub fn text_on_it(self) -> Self {
        let (black, white) = (self.contrast(Self::BLACK), self.contrast(Self::WHITE));
        if black > white { Self::BLACK } else { Self::WHITE }
    }

    /// The colour, darker on a light background and lighter on a dark one, just enough to be read.
    pub fn readable_on(self, background: Self) -> Self {
        let end = background.text_on_it();
        let mix = |step: u16| {
            let mut mixed = self.0;
            for (channel, target) in mixed.iter_mut().zip(end.0) {
                *channel =
                    ((u16::from(*channel) * (20 - step) + u16::from(target) * step) / 20) as u8;
            }
            Self(mixed)
        };
        (0..20).map(mix).find(|mixed| mixed.contrast(background) >= CONTRAST).unwrap_or(end)
    }

    /// The relative luminance by WCAG 2.2.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(two) / one.min(two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_can_be_read() {
        let backgrounds = [
            Colour::WHITE,
            Colour([0xf4, 0xf5, 0xf7]),
            Colour([0x1b, 0x1f, 0x26]),
            Colour([0x16, 0x19, 0x1f]),
        ];
        for red in (0..=255).step_by(15) {
            for green in (0..=255).step_by(15) {
                for blue in (0..=255).step_by(15) {
                    let colour = Colour([red, green, blue]);
                    assert!(colour.contrast(colour.text_on_it()) >= CONTRAST, "{colour:?}");
                    for background in backgrounds {
                        let readable = colour.readable_on(background);
                        assert!(readable.contrast(background) >= CONTRAST, "{colour:?}");
                    }
                }
            }
        }
    }
}
