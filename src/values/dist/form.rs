//! How a distribution is written: a number for a constant, or a table with one key.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Dist, Quantiles, Signed};

impl<'de> Deserialize<'de> for Dist {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dist = deserializer.deserialize_any(DistVisitor("milliseconds as a number"))?;
        match dist.problem() {
            None => Ok(dist),
            Some(problem) => Err(D::Error::custom(problem)),
        }
    }
}

impl<'de> Deserialize<'de> for Signed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Unchecked(dist) = Unchecked::deserialize(deserializer)?;
        Signed::new(dist).map_err(D::Error::custom)
    }
}

/// A distribution whose values were not looked at.
struct Unchecked(Dist);

impl<'de> Deserialize<'de> for Unchecked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dist = deserializer.deserialize_any(DistVisitor("a number"))?;
        Ok(Unchecked(dist))
    }
}

/// Reads a number as a constant, which is described so, and a table as [`Table`].
struct DistVisitor(&'static str);

impl<'de> Visitor<'de> for DistVisitor {
    type Value = Dist;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)?;
        formatter.write_str(
            ", or one of { uniform = [low, high] }, \
             { exponential = mean }, { log_normal = { median = …, sigma = … } }, \
             { quantiles = { p50 = …, p99 = …, max = … } }, { mixture = [[weight, …], …] }, \
             { values = […] }, { file = \"…\" }",
        )
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Dist, E> {
        Ok(Dist::Constant(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Dist, E> {
        Ok(Dist::Constant(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Dist, E> {
        Ok(Dist::Constant(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Dist, A::Error> {
        match Table::deserialize(MapAccessDeserializer::new(map))? {
            Table::Uniform([low, high]) => Ok(Dist::Uniform(low, high)),
            Table::Exponential(mean) => Ok(Dist::Exponential(mean)),
            Table::LogNormal { median, sigma } => Ok(Dist::LogNormal { median, sigma }),
            Table::Quantiles(quantiles) => Ok(Dist::Quantiles(quantiles)),
            Table::Mixture(parts) => {
                let parts = parts.into_iter();
                let parts = parts.map(|(weight, Unchecked(dist))| (weight, dist));
                Ok(Dist::Mixture(parts.collect()))
            }
            Table::Values(mut values) => {
                values.sort_by(f64::total_cmp);
                Ok(Dist::Values(values))
            }
            Table::File(name) => Err(A::Error::custom(format!(
                "a file of values ({name}) is read only where a scenario or an environment names it; \
                 write {{ values = […] }} here"
            ))),
        }
    }
}

/// The distributions written as a table with one key.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Table {
    Uniform([f64; 2]),
    Exponential(f64),
    LogNormal {
        median: f64,
        sigma: f64,
    },
    Quantiles(Quantiles),
    Mixture(Vec<(f64, Unchecked)>),
    Values(Vec<f64>),
    /// What reads a scenario replaces it by the values.
    File(String),
}

/// Quantiles are `min`, `max`, and `p` with a percentage.
impl<'de> Deserialize<'de> for Quantiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, Number>::deserialize(deserializer)?;
        let mut quantiles = Quantiles {
            min: 0.0,
            points: Vec::new(),
            max: None,
        };
        for (key, Number(value)) in written {
            let percent = key.strip_prefix('p').and_then(|it| it.parse().ok());
            match (&*key, percent) {
                ("min", _) => quantiles.min = value,
                ("max", _) => quantiles.max = Some(value),
                (_, Some(percent)) => quantiles.points.push((percent, value)),
                (_, None) => {
                    return Err(D::Error::custom(format!(
                        "\"{key}\" is no quantile; write min, max, p50 or \"p99.9\""
                    )));
                }
            }
        }
        let by_percent = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
        quantiles.points.sort_by(by_percent);
        Ok(quantiles)
    }
}

/// The value of a quantile. `p99.9 = 5` without quotes is a table in TOML.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Number, A::Error> {
                Err(A::Error::custom(
                    "a quantile is a number; one with a point needs quotes: \"p99.9\" = 300",
                ))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

impl Serialize for Quantiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.min > 0.0 {
            map.serialize_entry("min", &self.min)?;
        }
        for (percent, value) in &self.points {
            map.serialize_entry(&format!("p{percent}"), value)?;
        }
        if let Some(max) = self.max {
            map.serialize_entry("max", &max)?;
        }
        map.end()
    }
}
