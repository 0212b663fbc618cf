//! Bar charts as SVG, with whiskers.

use crate::{groups::Kind, table};
use askama::Template;
use plotters::{
    chart::ChartContext,
    coord::{
        Shift,
        ranged1d::{Ranged, ValueFormatter},
        types::RangedCoordf64,
    },
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use std::error::Error;

/// What a chart shows of one row.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) value: f64,
    /// The least and the most, for the whisker.
    pub(crate) range: Option<(f64, f64)>,
    /// The value as it is written beside the bar.
    pub(crate) text: String,
}

/// A picture within the page: its text alternative, and its elements.
#[derive(Debug, Template)]
#[template(path = "chart.svg", escape = "html")]
struct Picture<'a> {
    label: &'a str,
    width: u32,
    height: u32,
    elements: &'a str,
}

const WIDTH: u32 = 470;
const BAR: u32 = 18;
/// Room for a letter of a label.
const LETTER: i32 = 6;
/// Room for a value beside its bar.
const VALUES: i32 = 56;
const AXIS: i32 = 24;
/// The largest value over the smallest from which on the axis is logarithmic: a shorter bar could not be seen.
const LOGARITHMIC: f64 = 25.0;

// The page's style sheet gives these their real colours, light or dark, by these values.
const OURS: RGBColor = RGBColor(0, 0, 1);
const FLOOR: RGBColor = RGBColor(0, 0, 2);
const PEER: RGBColor = RGBColor(0, 0, 3);
const TEXT: RGBColor = RGBColor(0, 0, 4);
const GRID: RGBColor = RGBColor(0, 0, 5);
const WHISKER: RGBColor = RGBColor(0, 0, 6);

/// Whether the values ask for a logarithmic axis.
pub(crate) fn is_logarithmic(bars: &[Bar]) -> bool {
    let least = bars.iter().map(|bar| bar.value).fold(f64::INFINITY, f64::min);
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    most / least >= LOGARITHMIC
}

/// A chart of positive values, in the order given from above; the label says in words what it shows.
pub(crate) fn svg(label: &str, bars: &[Bar]) -> Result<String, Box<dyn Error>> {
    let height = bars.len() as u32 * BAR + AXIS as u32;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let ends = bars.iter().flat_map(|bar| [bar.value, bar.range.map_or(bar.value, |range| range.1)]);
        let most = ends.fold(0.0, f64::max);
        let rows = bars.len() as f64..0.0;
        let longest = bars.iter().map(|bar| bar.label.chars().count() as i32).max().unwrap_or(0);
        let mut builder = ChartBuilder::on(&root);
        builder.margin_right(VALUES).set_label_area_size(LabelAreaPosition::Left, (longest + 2).min(50) * LETTER);
        builder.set_label_area_size(LabelAreaPosition::Bottom, AXIS);
        if is_logarithmic(bars) {
            let starts = bars.iter().flat_map(|bar| [bar.value, bar.range.map_or(bar.value, |range| range.0)]);
            let least = starts.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
            // Each bar has a length: the axis begins below the smallest.
            let start = 10f64.powf((least / 1.5).log10().floor());
            draw(&root, builder.build_cartesian_2d((start..most).log_scale(), rows)?, start, bars)?;
        } else {
            draw(&root, builder.build_cartesian_2d(0.0..most, rows)?, 0.0, bars)?;
        }
        root.present()?;
    }
    // The page has one size of letters and one font; what is the default need not be said each time.
    let elements = text.split_once('>').map_or("", |(_, elements)| elements).replace("</svg>", "");
    let elements = elements.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "").replace("\n", "");
    Ok(Picture { label, width: WIDTH, height, elements: &elements }.render()?)
}

type Root<'a, 'b> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw<'a, 'b, X: Ranged<ValueType = f64> + ValueFormatter<f64>>(
    root: &Root<'a, 'b>,
    mut chart: ChartContext<'b, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>,
    start: f64,
    bars: &[Bar],
) -> Result<(), Box<dyn Error>>
where
    'a: 'b,
{
    let style = |right| {
        let at = Pos::new(if right { HPos::Right } else { HPos::Left }, VPos::Center);
        TextStyle::from(("inherit", 14).into_font()).color(&TEXT).pos(at)
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_max_light_lines(0)
        .x_labels(5)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .label_style(("inherit", 13).into_font().color(&TEXT))
        .x_label_formatter(&|value| table::tick(*value))
        .draw()?;
    for (index, bar) in bars.iter().enumerate() {
        let (top, middle) = (index as f64, index as f64 + 0.5);
        let color = match bar.kind {
            Kind::Ours => OURS,
            Kind::Floor => FLOOR,
            Kind::Peer => PEER,
        };
        chart.draw_series([Rectangle::new([(start, top + 0.15), (bar.value, top + 0.85)], color.filled())])?;
        let mut end = bar.value;
        if let Some((least, most)) = bar.range {
            // A logarithmic axis has no zero.
            let least = least.max(start);
            let ends = [(least, 0.3), (least, 0.7), (least, 0.5), (most, 0.5), (most, 0.3), (most, 0.7)];
            chart.draw_series([PathElement::new(ends.map(|(x, y)| (x, top + y)).to_vec(), WHISKER)])?;
            end = end.max(most);
        }
        let (left, y) = chart.backend_coord(&(start, middle));
        let right = chart.backend_coord(&(end, middle)).0;
        root.draw(&Text::new(bar.label.as_str(), (left - 6, y), style(true)))?;
        root.draw(&Text::new(bar.text.as_str(), (right + 5, y), style(false)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, kind: Kind, value: f64) -> Bar {
        Bar { label: label.to_owned(), kind, value, range: Some((value * 0.9, value * 1.1)), text: value.to_string() }
    }

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn a_bar_and_a_whisker_for_each_value() {
        let bars = [bar("a", Kind::Floor, 9.0), bar("b", Kind::Ours, 5.0), bar("c", Kind::Peer, 1.0)];
        let svg = svg("three", &bars).unwrap();
        assert_eq!((count(&svg, "<rect"), count(&svg, "<svg"), count(&svg, "</svg>")), (3, 1, 1), "{svg}");
        for color in ["#000001", "#000002", "#000003"] {
            assert_eq!(count(&svg, &format!("<rect fill=\"{color}\"")) + count(&svg, &format!("fill=\"{color}\"")), 1);
        }
        assert_eq!(count(&svg, "stroke=\"#000006\""), 3);
        assert!(svg.contains("<title>three</title>") && svg.contains("aria-label=\"three\""), "{svg}");
    }

    #[test]
    fn a_wide_range_is_logarithmic_and_its_least_bar_has_a_length() {
        let wide = [bar("a", Kind::Ours, 1e6), bar("b", Kind::Peer, 10.0)];
        assert!(is_logarithmic(&wide) && !is_logarithmic(&wide[..1]));
        let svg = svg("wide", &wide).unwrap();
        let widths: Vec<f64> = svg
            .split("<rect")
            .skip(1)
            .filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!(widths.len() == 2 && widths[0] > widths[1] && widths[1] > 5.0, "{widths:?}");
    }

    #[test]
    fn a_round_without_a_reply_stays_within_the_chart() {
        let stuck = Bar { range: Some((0.0, 2e6)), ..bar("a", Kind::Ours, 1e6) };
        let svg = svg("stuck", &[stuck, bar("b", Kind::Peer, 10.0)]).unwrap();
        let points = svg.split("points=\"").skip(1).filter_map(|points| points.split('"').next());
        let mut numbers = points.flat_map(|points| points.split([' ', ','])).filter_map(|n| n.parse::<i64>().ok());
        assert!(numbers.all(|number| (0..=i64::from(WIDTH)).contains(&number)), "{svg}");
    }

    #[test]
    fn labels_are_escaped() {
        let svg = svg("<&\"", &[bar("<script>", Kind::Peer, 1.0)]).unwrap();
        assert!(!svg.contains("<script>") && !svg.contains("\"<&"), "{svg}");
    }
}
