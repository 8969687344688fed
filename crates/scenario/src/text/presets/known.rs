//! What `gamelane analyze` knows of applications: ports and domains of their servers, and what the models of games send.

use gamelane_capture::names::{Group, Known, KnownApplication, Ports, Sends};
use gamelane_core::Protocol;

use super::files::{App, File};
use crate::text::cloud::CloudGame;
use crate::text::games::Game;
use crate::text::keys::rule::Transport;
use crate::text::mmos::Mmo;
use crate::text::ports;

/// All shipped games and applications whose servers have a known port or domain.
pub fn known_applications() -> Known {
    let games = Game::all().iter().map(|game| KnownApplication {
        sends: sends(game),
        ..application(&game.about.name, Group::Game, &game.about.ports)
    });
    let mmos = Mmo::all().iter().map(|mmo| application(&mmo.about.name, Group::Game, &mmo.about.ports));
    let clouds =
        CloudGame::all().iter().map(|game| application(&game.about.name, Group::Media, &game.about.ports));
    let apps = App::all().iter().map(|(name, app)| KnownApplication {
        domains: app.domains.clone(),
        ..application(name, group(&app.kind), &app.ports)
    });
    let all = games.chain(mmos).chain(clouds).chain(apps);
    Known {
        applications: all.filter(|known| !(known.ports.is_empty() && known.domains.is_empty())).collect(),
    }
}

fn application(name: &str, group: Group, ports: &[ports::Ports]) -> KnownApplication {
    let ports = ports.iter().map(|ports| Ports {
        protocol: match ports.transport {
            Transport::Tcp => Protocol::Tcp,
            Transport::Udp => Protocol::Udp,
        },
        range: ports.first..=ports.last,
    });
    KnownApplication { name: name.into(), group, ports: ports.collect(), domains: Vec::new(), sends: None }
}

/// What the group of an application in a list of presets is for its signatures.
fn group(kind: &str) -> Group {
    match kind {
        "call" | "remote" => Group::Media,
        _ => Group::Other,
    }
}

fn sends(game: &Game) -> Option<[Sends; 2]> {
    let up = Sends {
        per_second: game.client.mean_interval_s().recip(),
        payload_bytes: game.client.mean_payload(),
    };
    let payload_bytes = game.server.size.mean_payload(game.players)?;
    Some([up, Sends { per_second: game.server.tick.mean().recip(), payload_bytes }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_known_by_port_and_pace() {
        let known = known_applications();
        let valorant = known.applications.iter().find(|known| known.name == "valorant").unwrap();
        assert_eq!(valorant.group, Group::Game);
        assert!(valorant.ports.iter().any(|ports| ports.range.contains(&7100)), "{valorant:?}");
        let [up, down] = valorant.sends.unwrap();
        // Its tick is published: 128 a second.
        assert!((down.per_second - 128.0).abs() < 0.1 && up.payload_bytes > 0.0, "{up:?} {down:?}");
    }

    #[test]
    fn domains_are_lower_case_and_whole() {
        for known in known_applications().applications {
            for domain in known.domains {
                let is_sound = domain.contains('.')
                    && !domain.starts_with('.')
                    && domain.bytes().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte)
                    });
                assert!(is_sound, "{}: {domain}", known.name);
            }
        }
    }
}
