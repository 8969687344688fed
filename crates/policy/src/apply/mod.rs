//! A scenario's gateway as lines that can be pasted: for Linux, for OpenWrt, and for gamelane's own gateway.
//!
//! | file | what it holds |
//! |---|---|
//! | [`recipe`](Recipe) | the lines of one target |
//! | `setup` | rate, framing and queue of each direction on a real gateway |
//! | [`classes`] | `gateway.priority` as classes and rules |
//! | `rules` | rules with conditions that one packet of a real network shows |
//! | `options` | a queue's keys as options of `tc` |
//! | `tc`, `openwrt`, `own` | the targets |

pub mod classes;
mod openwrt;
mod options;
mod own;
mod recipe;
mod rules;
mod setup;
mod tc;

use gamelane_scenario::Scenario;

pub use recipe::Recipe;

use setup::Setup;

/// Words of the targets, in the order of [`recipes`].
pub const TARGETS: [&str; 3] = [tc::TARGET, openwrt::TARGET, own::TARGET];

/// A recipe for each of [`TARGETS`]. A target that cannot express the setting has no lines, but the reason.
///
/// [`Scenario::to_model`] must accept the scenario: it checks the names that the lines contain.
///
/// With the scenario of today's gateway, the recipes also say which change they cannot make.
pub fn recipes(scenario: &Scenario, today: Option<&Scenario>) -> [Recipe; 3] {
    let setup = Setup::of(scenario, today);
    [tc::recipe(&setup), openwrt::recipe(&setup), own::recipe(&setup)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = r#"
name = "home"
[link]
down = "20mbit"
up = "2mbit"
[gateway]
up = { queue = "priority" }
down = { queue = "priority" }
priority = ["quake3"]
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"#;

    fn scenario(keys: &[(&str, &str)]) -> Scenario {
        let overrides: Vec<_> = keys.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let scenario = Scenario::parse(HOME, "home.toml", &overrides).unwrap();
        scenario.to_model().unwrap();
        scenario
    }

    fn of(keys: &[(&str, &str)]) -> [Recipe; 3] {
        recipes(&scenario(keys), None)
    }

    fn has(lines: &[String], part: &str) -> bool {
        lines.iter().any(|line| line.contains(part))
    }

    #[test]
    fn a_game_is_known_by_the_port_of_its_server() {
        let [tc, openwrt, own] = of(&[]);
        assert!(tc.matches() && own.matches());
        assert!(has(&tc.edit, "PORT_QUAKE3=27960  # UDP port of the server of quake3"));
        assert!(has(&tc.apply, "udp dport $PORT_QUAKE3 meta priority set 6a1:1 accept"));
        assert_eq!(openwrt.apply, [] as [&str; 0]);
        assert_eq!(openwrt.unsaid, ["SQM has no classes, and `queue = priority` needs them."]);
        let upload = of(&[("gateway.priority", "[\"upload\"]")]);
        assert_eq!(
            upload[0].lines()[0],
            "# There are no tc lines: nothing tells `upload` from other traffic: it has no port or `dscp` of its own."
        );
    }

    #[test]
    fn what_linux_lacks_is_left_out_and_said() {
        let pie = r#"{ queue = "pie", limit = "64KiB", max_burst = "90ms" }"#;
        let [tc, openwrt, _] = of(&[("gateway.*", pie)]);
        assert!(!tc.matches() && !openwrt.matches());
        assert!(has(&tc.unsaid, "`gateway.up.limit = 64KiB`: here Linux counts packets, not bytes."));
        assert!(has(&tc.unsaid, "`gateway.up.max_burst = 90ms`"));
        assert!(has(&tc.apply, "pie limit 43 target 15000us tupdate 15000us noecn"));
        assert!(has(&openwrt.apply, "uci set sqm.wan.elimit='43'"));
        assert!(has(&openwrt.unsaid, "`gateway.down.max_burst = 90ms` has no option in tc."));
    }

    #[test]
    fn the_queue_of_the_modem_moves_to_the_gateway_that_shapes() {
        let keys = [("gateway.*", r#"{ queue = "fifo" }"#), ("gateway.modem", r#"{ queue = "codel" }"#)];
        let [tc, _, own] = of(&keys);
        assert!(has(&tc.apply, "codel limit 1000"));
        assert!(has(&own.apply, "queue = \"codel\"") && !has(&own.apply, "[gateway.modem]"));
        assert!(has(&own.apply, "up = \"1900kbit\""));
    }

    #[test]
    fn each_flow_has_a_variable_of_its_own() {
        let flow = r#"{ name = "a-b", app = "game", model = "quake3" }, { name = "a_b", app = "voip" }, { name = "c", app = "bulk", direction = "up" }"#;
        let [tc, ..] = of(&[("flow", &format!("[{flow}]")), ("gateway.priority", r#"["a-b", "a_b"]"#)]);
        assert!(tc.matches());
        assert!(has(&tc.edit, "PORT_A_B=27960") && has(&tc.edit, "PORT_A_B_=5004"));
        assert!(has(&tc.apply, "udp dport $PORT_A_B ") && has(&tc.apply, "udp dport $PORT_A_B_ "));
    }

    #[test]
    fn flows_of_one_mark_cannot_be_told_apart() {
        let flow = r#"{ name = "a", app = "bulk", direction = "up", dscp = "EF" }, { name = "b", app = "bulk", direction = "up", dscp = "EF" }"#;
        let flow = format!("[{flow}]");
        let [tc, _, own] = of(&[("flow", &flow), ("gateway.priority", r#"["a"]"#)]);
        assert_eq!(tc.unsaid, ["`a` has the same `dscp` as `b`: the lines cannot tell them apart."]);
        assert!(!own.apply.is_empty());
        assert_eq!(own.unsaid, ["`b` goes first, too: on the wire it looks like one that does."]);
    }

    #[test]
    fn a_flow_that_is_switched_off_needs_no_rule() {
        let more = r#"[{ name = "quake3", app = "game", model = "quake3", enabled = false }, { name = "call", app = "voip" },
            { name = "upload", app = "bulk", direction = "up" }]"#;
        let [tc, ..] = of(&[("flow", more), ("gateway.priority", r#"["quake3", "call"]"#)]);
        assert!(tc.matches(), "{tc:?}");
    }

    #[test]
    fn a_strangers_scenario_cannot_end_the_file_and_go_on_as_commands() {
        let text = HOME.replace("name = \"home\"", "name = \"home\"\nquestion = \"a\\nEND\\nreboot\\n\"");
        let text = text.replace("[link]", "[link]\ntitle = \"a\\nENDD\\nreboot\"");
        let [_, _, own] = recipes(&Scenario::parse(&text, "home.toml", &[]).unwrap(), None);
        let at = |line: &str| own.apply.iter().position(|own| own == line).unwrap();
        assert_eq!(own.apply[0], "cat > gamelane.toml <<'ENDDD'");
        assert!(at("reboot") < at("ENDDD"));
        assert_eq!(at("ENDDD"), own.apply.len() - 2);
    }

    #[test]
    fn a_change_that_no_gateway_makes_is_said() {
        let shape = ("gateway.shape", r#"{ up = "1900kbit" }"#);
        let today = scenario(&[("gateway.*", r#"{ queue = "fifo" }"#), shape]);
        let keys = [("gateway.*", r#"{ queue = "fifo", limit = "20p" }"#), shape];
        for recipe in recipes(&scenario(&keys), Some(&today)) {
            assert!(has(&recipe.unsaid, "`gateway.down` changes a FIFO that nothing shapes."), "{recipe:?}");
        }
    }
}
