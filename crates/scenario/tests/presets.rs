//! Presets: what they expand into, and what is refused.

use gamelane_core::Direction;
use gamelane_scenario::text::{PresetInfo, offered_bps, presets};
use gamelane_scenario::{Model, Scenario, ScenarioError};

fn words(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(word, name)| ((*word).into(), (*name).into())).collect()
}

fn read(text: &str, given: &[(&str, &str)]) -> Result<(Scenario, Model), ScenarioError> {
    let scenario = Scenario::parse(text, "home.toml", &words(given))?;
    let model = scenario.to_model()?;
    Ok((scenario, model))
}

fn names(word: &str) -> Vec<String> {
    presets().into_iter().filter(|one| one.word == word).map(|one: PresetInfo| one.name).collect()
}

const HOME: [(&str, &str); 2] =
    [("plan", "cable-250-20"), ("with", "valorant,netflix-4k,zoom,windows-update")];

#[test]
fn a_household_in_one_line() {
    let (scenario, _) = read("", &HOME).unwrap();
    insta::assert_snapshot!(scenario.show());
}

#[test]
fn the_printed_file_is_the_same_scenario() {
    for policy in names("policy") {
        let (scenario, model) = read("", &[HOME[0], HOME[1], ("policy", &policy)]).unwrap();
        let (again, model_again) = read(&scenario.show(), &[]).unwrap();
        assert_eq!(scenario, again, "{policy}");
        assert_eq!(model.fingerprint(), model_again.fingerprint(), "{policy}");
    }
}

#[test]
fn every_plan_goes_with_every_policy_and_router() {
    for plan in names("plan") {
        for policy in names("policy") {
            for router in [None, names("router").first()] {
                let mut given =
                    vec![("plan", plan.as_str()), ("policy", policy.as_str()), ("with", "quake3")];
                given.extend(router.map(|router| ("router", router.as_str())));
                if let Err(refused) = read("", &given) {
                    panic!("{given:?}: {refused}");
                }
            }
        }
    }
}

#[test]
fn every_application_runs_twice_beside_itself() {
    for app in names("with") {
        let twice = format!("{app},{app}");
        let (scenario, _) =
            read("", &[HOME[0], ("with", &twice)]).unwrap_or_else(|why| panic!("{app}: {why}"));
        let mut flows: Vec<String> = scenario.describe_flows().into_iter().map(|flow| flow.name).collect();
        let all = flows.len();
        flows.sort_unstable();
        flows.dedup();
        assert!(all >= 2 && all.is_multiple_of(2) && flows.len() == all, "{app}: {flows:?}");
    }
}

#[test]
fn every_household_goes_with_every_policy() {
    for household in names("household") {
        for policy in names("policy") {
            let given = [("household", household.as_str()), ("policy", policy.as_str())];
            let (scenario, _) = read("", &given).unwrap_or_else(|why| panic!("{given:?}: {why}"));
            assert_eq!(scenario.name(), household);
            assert!(scenario.question().ends_with('?'), "{household} has no question");
        }
    }
}

/// A word on the command line takes the place of what the file says about the same thing; `with` adds.
#[test]
fn words_change_a_scenario() {
    let household = include_str!("../../../scenarios/household.toml");
    let (scenario, model) =
        read(household, &[("plan", "vdsl-50-10"), ("with", "zoom"), ("policy", "cake")]).unwrap();
    let flows: Vec<String> = scenario.describe_flows().into_iter().map(|flow| flow.name).collect();
    assert!(flows.starts_with(&["quake3".into(), "upload".into(), "zoom-voice".into()]), "{flows:?}");
    assert_eq!(model.hop(Direction::Up).link.rate.bps(), 10_000_000);
    assert_eq!(
        model.access.shape[Direction::Up.index()].as_ref().map(|shaper| shaper.rate.bps()),
        Some(9_000_000)
    );
}

/// Keys of `--set` go over the words, wherever they stand.
#[test]
fn keys_go_over_words() {
    let (_, model) =
        read("", &[("link.up", "3mbit"), HOME[0], HOME[1], ("flow.valorant.players", "6")]).unwrap();
    assert_eq!(model.hop(Direction::Up).link.rate.bps(), 3_000_000);
}

/// A shaper leaves the provider's buffers where they are: behind it. Rates of the shaper are shares of the link's, also of
/// a link that a key changed.
#[test]
fn shaper_and_buffers_follow_the_keys() {
    let shown = |keys: &[(&str, &str)]| {
        let given: Vec<_> =
            [("plan", "vdsl-50-10"), ("with", "quake3")].iter().chain(keys).copied().collect();
        let (scenario, _) = read("", &given).unwrap_or_else(|why| panic!("{given:?}: {why}"));
        scenario.show().parse::<toml::Table>().unwrap()["gateway"].to_string()
    };
    let cake = [("gateway.*.queue", "cake"), ("gateway.shape", "{ up = \"9mbit\", down = \"45mbit\" }")];
    let all = [
        shown(&[]),
        shown(&cake),
        shown(&[cake[0]]),
        shown(&[("gateway.up.limit", "64KiB")]),
        shown(&[("policy", "cake"), ("link.up", "5mbit")]),
        shown(&[("policy", "cake"), ("gateway.shape.up", "3mbit")]),
        shown(&[("policy", "cake"), ("gateway.shape", "false")]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    { isp = { limit = "610KiB", queue = "fifo" }, modem = { limit = "245KiB", queue = "fifo" } }
    { down = { queue = "cake" }, isp = { limit = "610KiB", queue = "fifo" }, modem = { limit = "245KiB", queue = "fifo" }, shape = { down = "45mbit", up = "9mbit" }, up = { queue = "cake" } }
    { down = { queue = "cake" }, up = { queue = "cake" } }
    { isp = { limit = "610KiB", queue = "fifo" }, up = { limit = "64KiB", queue = "fifo" } }
    { down = { isolation = "dual-dsthost", queue = "cake", tins = "besteffort" }, isp = { limit = "610KiB", queue = "fifo" }, modem = { limit = "245KiB", queue = "fifo" }, shape = { down = "45mbit", up = "4500kbit" }, up = { isolation = "dual-srchost", queue = "cake", tins = "besteffort" } }
    { down = { isolation = "dual-dsthost", queue = "cake", tins = "besteffort" }, isp = { limit = "610KiB", queue = "fifo" }, modem = { limit = "245KiB", queue = "fifo" }, shape = { down = "45mbit", up = "3mbit" }, up = { isolation = "dual-srchost", queue = "cake", tins = "besteffort" } }
    { down = { isolation = "dual-dsthost", queue = "cake", tins = "besteffort" }, shape = false, up = { isolation = "dual-srchost", queue = "cake", tins = "besteffort" } }
    "#);
}

#[test]
fn a_household_file_of_ones_own() {
    let text = r#"
        plan = "adsl-16-1"
        [link]
        rtt = "80ms"
        [[with]]
        preset = "camera"
        count = 2
        [[with]]
        preset = "photos-upload"
        host = "attic"
        set = { start = "20s" }
    "#;
    let (scenario, _) = read(text, &[]).unwrap();
    insta::assert_snapshot!(scenario.show());
}

#[test]
fn more_than_the_plan_has() {
    let (scenario, model) =
        read("", &[("plan", "adsl-16-1"), ("with", "zoom,netflix-4k,twitch-live")]).unwrap();
    let asked = offered_bps(&model, Direction::Up);
    assert!(asked > 6e6, "{asked}");
    let caveats = scenario.caveats(&model).join("\n");
    assert!(caveats.contains("Mbit/s upstream, and the link has 1.0 Mbit/s"), "{caveats}");
    assert!(caveats.contains("Mbit/s downstream, and the link has 16.0 Mbit/s"), "{caveats}");
}

#[test]
fn a_router_that_is_too_slow() {
    let slow = names("router").into_iter().find(|router| router.contains("mt7621")).expect("a slow router");
    let given = [HOME[0], HOME[1], ("policy", "cake"), ("router", &slow)];
    let (scenario, model) = read("", &given).unwrap();
    let rates = model.access.shape.each_ref().map(|shaper| shaper.as_ref().unwrap().rate.bps());
    assert_eq!(rates[0], 18_000_000);
    assert!(rates[1] < 225_000_000);
    assert!(scenario.caveats(&model).iter().any(|caveat| caveat.contains("shapes at most")));
    // The limit holds for keys and for autorate too.
    let more = |more: &[(&str, &str)]| {
        let (scenario, _) = read("", &[&given[..2], more, &[("router", &slow)]].concat()).unwrap();
        scenario.show().parse::<toml::Table>().unwrap()["gateway"].clone()
    };
    let shape = more(&[("policy", "cake"), ("gateway.shape.down", "200mbit")])["shape"].to_string();
    assert_eq!(shape, r#"{ down = "132mbit", up = "18mbit" }"#);
    let autorate = more(&[("policy", "autorate")])["autorate"].to_string();
    assert_eq!(autorate, r#"{ down = { highest = "132mbit" }, up = { highest = "18mbit" } }"#);
    let (scenario, model) = read("", &[HOME[0], HOME[1], ("router", &slow)]).unwrap();
    assert!(scenario.caveats(&model).iter().any(|caveat| caveat.ends_with("nothing is shaped")));
}

/// A written file keeps the buffers of its plan, whatever policy it is run with.
#[test]
fn a_written_file_takes_any_policy() {
    let (written, _) = read("", &HOME).unwrap();
    let (shaped, _) = read("", &[&HOME[..], &[("policy", "cake")]].concat()).unwrap();
    for policy in names("policy") {
        let at_once = read("", &[&HOME[..], &[("policy", &policy)]].concat()).unwrap().0;
        for file in [written.show(), shaped.show()] {
            let (later, _) =
                read(&file, &[("policy", &policy)]).unwrap_or_else(|why| panic!("{policy}: {why}"));
            assert_eq!(later.to_toml(), at_once.to_toml(), "{policy}");
        }
    }
}

#[test]
fn a_share_of_a_rate_that_the_link_lacks() {
    let (written, _) = read("", &[("plan", "lte-home"), ("with", "valorant")]).unwrap();
    let why = read(&written.show(), &[("policy", "cake")]).unwrap_err().to_string();
    insta::assert_snapshot!(why);
}

#[test]
fn refusals_of_presets() {
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("no such plan", &[("plan", "cable-250"), ("with", "valorant")]),
        ("no such application", &[HOME[0], ("with", "valorant,netflx")]),
        ("a plan among the applications", &[HOME[0], ("with", "vdsl-50-10")]),
        ("an application for a policy", &[HOME[0], HOME[1], ("policy", "zoom")]),
        ("no such household", &[("household", "familly")]),
        ("an application without a plan", &[("with", "valorant")]),
        (
            "a key that an application does not read",
            &[HOME[0], ("with", "zoom"), ("flow.zoom-voice.rates", "[]")],
        ),
        ("a plan and no application", &[HOME[0]]),
        ("an empty word", &[HOME[0], ("with", "valorant,")]),
    ];
    let messages = cases.map(|(title, given)| match read("", given) {
        Ok(_) => format!("## {title}\n\naccepted"),
        Err(refused) => format!("## {title}\n\n{refused}"),
    });
    let files = [
        ("a count of nothing", "plan = 'vdsl-50-10'\nwith = [{ preset = 'zoom', count = 0 }]"),
        ("an unknown key", "plan = 'vdsl-50-10'\nwith = [{ preset = 'zoom', hosts = 'a' }]"),
        (
            "a key that is none of a flow",
            "plan = 'vdsl-50-10'\nwith = [{ preset = 'zoom', set = { strat = '2s' } }]",
        ),
        ("with as text", "plan = 'vdsl-50-10'\nwith = 'zoom'"),
        ("a plan that is a number", "plan = 50\nwith = ['zoom']"),
    ];
    let files = files.map(|(title, text)| match read(text, &[]) {
        Ok(_) => format!("## {title}\n\naccepted"),
        Err(refused) => format!("## {title}\n\n{refused}"),
    });
    insta::assert_snapshot!([messages.as_slice(), files.as_slice()].concat().join("\n\n"));
}
