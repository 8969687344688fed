//! `[server.size]` and `[client.series]` of a game model: packet sizes, as text and checked. `gamelane traffic fit`
//! writes the measured ones (docs/models/traffic-fit.md).

use gamelane_traffic::config::{EstimatedMatch, MeasuredMatch, SizeSeries, UpdateSize};
use serde::Deserialize;

use super::games::{Bytes, positive};

/// `[server.size]`.
#[derive(Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Updates {
    Arma {
        fixed: f64,
        per_player: f64,
        sd_per_player: f64,
        phi: f64,
        theta: f64,
        min: u32,
        max: u32,
    },
    Independent {
        size: Bytes,
        min: u32,
        max: u32,
    },
    Measured {
        min: u32,
        max: u32,
        #[serde(rename = "match")]
        matches: Vec<Match>,
        #[serde(default)]
        estimated: Vec<Estimate>,
    },
}

/// `[[server.size.match]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Match {
    players: u32,
    phi: f64,
    theta: f64,
    quantiles: Vec<(f64, f64)>,
}

/// Entry of `estimated`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Estimate {
    players: u32,
    sum: Vec<u32>,
    mean: f64,
    mean_95: (f64, f64),
    sd: f64,
    sd_95: (f64, f64),
}

/// `[client.series]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    phi: f64,
    theta: f64,
    quantiles: Vec<(f64, f64)>,
}

/// Checks update sizes. They must cover a match of `players`.
pub(super) fn updates(size: Updates, players: u32) -> Result<UpdateSize, String> {
    let (min, max) = match &size {
        Updates::Arma { min, max, .. }
        | Updates::Independent { min, max, .. }
        | Updates::Measured { min, max, .. } => (*min, *max),
    };
    if !(1 <= min && min <= max && max <= LARGEST_PAYLOAD) {
        return Err(format!("required is 1 ≤ min ≤ max ≤ {LARGEST_PAYLOAD} (bytes)"));
    }
    match size {
        Updates::Arma { fixed, per_player, sd_per_player, phi, theta, .. } => {
            let finite = [fixed, per_player, theta].iter().all(|number| number.is_finite());
            if !(finite && phi.abs() < 1.0 && (0.0..=f64::MAX).contains(&sd_per_player)) {
                return Err("an ARMA series needs finite numbers, |phi| < 1 and sd_per_player ≥ 0".into());
            }
            Ok(UpdateSize::Arma { fixed, per_player, sd_per_player, phi, theta, min, max })
        }
        Updates::Independent { size, .. } => {
            Ok(UpdateSize::Independent { size: positive(size.into())?, min, max })
        }
        Updates::Measured { matches, estimated, .. } => {
            let matches = measured(matches)?;
            let estimated = estimates(estimated, &matches)?;
            let size = UpdateSize::Measured { matches, estimated, min, max };
            match size.mean_payload(players) {
                Some(_) => Ok(size),
                None => Err(format!(
                    "`players.default` is {players}, but no `match` and no `estimated` has this number of players"
                )),
            }
        }
    }
}

fn measured(matches: Vec<Match>) -> Result<Vec<MeasuredMatch>, String> {
    if matches.is_empty() || !matches.is_sorted_by(|a, b| a.players < b.players) {
        return Err("`match` needs at least one entry, with `players` ascending".into());
    }
    matches
        .into_iter()
        .map(|Match { players, phi, theta, quantiles }| {
            let series = series(Series { phi, theta, quantiles })
                .map_err(|why| format!("match of {players} players: {why}"))?;
            countable(players)?;
            Ok(MeasuredMatch { players, series })
        })
        .collect()
}

fn estimates(estimated: Vec<Estimate>, matches: &[MeasuredMatch]) -> Result<Vec<EstimatedMatch>, String> {
    let captured = |players: u32| matches.iter().any(|one| one.players == players);
    if !estimated.is_sorted_by(|a, b| a.players < b.players) {
        return Err("`estimated` must have `players` ascending".into());
    }
    estimated
        .into_iter()
        .map(|Estimate { players, sum, mean, mean_95, sd, sd_95 }| {
            countable(players)?;
            let wrong = |what: &str| Err(format!("`estimated` for {players} players: {what}"));
            let within = |value: f64, (low, high): (f64, f64)| {
                0.0 <= low && low <= value && value <= high && high.is_finite()
            };
            if captured(players) {
                return wrong("this number of players has a `match`");
            }
            if !(1..=MOST_PARTS).contains(&sum.len()) || !sum.iter().copied().all(captured) {
                return wrong(&format!(
                    "`sum` must name 1 to {MOST_PARTS} matches by their players, for example [4, 2]"
                ));
            }
            if !(mean > 0.0 && within(mean, mean_95) && within(sd, sd_95)) {
                return wrong(
                    "bytes must be finite: `mean` above 0, `sd` 0 or above, each within its 95 % interval [low, high]",
                );
            }
            Ok(EstimatedMatch { players, sum, mean, mean_95, sd, sd_95 })
        })
        .collect()
}

fn countable(players: u32) -> Result<(), String> {
    let allowed = (1..=MOST_PLAYERS).contains(&players);
    allowed.then_some(()).ok_or_else(|| format!("a match has 1 to {MOST_PLAYERS} players, not {players}"))
}

/// Checks a distribution with memory.
pub(super) fn series(series: Series) -> Result<SizeSeries, String> {
    let Series { phi, theta, quantiles } = series;
    if !(phi.abs() < 1.0 && theta.is_finite()) {
        return Err("a series needs |phi| < 1 and a finite theta".into());
    }
    let ends = (quantiles.first().map(|first| first.0), quantiles.last().map(|last| last.0));
    let shares_rise = quantiles.is_sorted_by(|a, b| a.0 < b.0);
    let sizes_rise = quantiles.is_sorted_by(|a, b| a.1 <= b.1);
    let within = quantiles.iter().all(|&(_, size)| (0.0..=f64::from(LARGEST_PAYLOAD)).contains(&size));
    if quantiles.len() < 2 || ends != (Some(0.0), Some(1.0)) || !(shares_rise && sizes_rise && within) {
        return Err(format!(
            "`quantiles` must be pairs [share, bytes]: shares rise from 0 to 1, bytes never fall and are 0 to {LARGEST_PAYLOAD}"
        ));
    }
    Ok(SizeSeries { phi, theta, quantiles })
}

/// UDP payload of the largest IPv4 packet on Ethernet.
const LARGEST_PAYLOAD: u32 = 1472;

/// Most players of a match, so that a file cannot demand unbounded work.
pub(super) const MOST_PLAYERS: u32 = 1000;

/// Most parts of an estimated match, for the same reason.
const MOST_PARTS: usize = 1000;

#[cfg(test)]
mod tests {
    use crate::text::games::Game;

    const FITTED: &str = include_str!("../../../../models/openarena.toml");

    #[test]
    fn an_invalid_fitted_model_is_refused_by_key() {
        let refuse = |change: &dyn Fn(&mut toml::Table)| {
            let mut file: toml::Table = FITTED.parse().unwrap();
            change(&mut file);
            Game::parse(&file.to_string()).unwrap_err()
        };
        let set = |table: &str, key: &str, value: toml::Value| {
            let (table, key) = (table.to_owned(), key.to_owned());
            refuse(&move |file| {
                let mut place: &mut toml::Value = &mut file[table.split('.').next().unwrap()];
                for step in table.split('.').skip(1) {
                    place = match step.parse::<usize>() {
                        Ok(index) => &mut place[index],
                        Err(_) => &mut place[step],
                    };
                }
                place.as_table_mut().unwrap().insert(key.clone(), value.clone());
            })
        };
        let estimate = |key: &str, value| set("server.size.estimated.0", key, value);
        let pairs = |pairs: &[(f64, f64)]| {
            let pair = |&(p, x): &(f64, f64)| toml::Value::Array(vec![p.into(), x.into()]);
            toml::Value::Array(pairs.iter().map(pair).collect())
        };
        let falling = pairs(&[(0.0, 40.0), (0.5, 30.0), (1.0, 50.0)]);
        let short = pairs(&[(0.0, 40.0), (0.5, 50.0)]);
        let shown = [
            set("server.size.match.0", "quantiles", falling),
            set("client.series", "quantiles", short),
            set("server.size.match.1", "phi", 1.0.into()),
            set("server.size.match.1", "players", 2.into()),
            set("server.size", "match", toml::Value::Array(vec![])),
            estimate("sum", toml::Value::Array(vec![])),
            estimate("sum", toml::Value::Array(vec![7.into()])),
            estimate("mean", f64::NAN.into()),
            estimate("sd", 1e6.into()),
            estimate("players", 4.into()),
            estimate("players", 9.into()),
            refuse(&|file| {
                let players = file["players"].as_table_mut().unwrap();
                players.insert("min".into(), 1.into());
                players.insert("default".into(), 1.into());
            }),
            set("players", "max", 100_000.into()),
            set(
                "server",
                "jitter",
                toml::Value::Table([("dist".into(), "constant".into())].into_iter().collect()),
            ),
            set("client", "size", pairs(&[(1.0, 60.0)])),
        ];
        insta::assert_snapshot!(shown.join("\n"));
    }
}
