//! The state behind a page, and its answers to requests.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use gamelane_capture::document::{Choice, Document, read_opened};
use gamelane_capture::{Capture, CaptureError, Input};
use gamelane_core::Duration;
use gamelane_policy::apply::{Recipe, recipes};
use gamelane_record::table::Table;
use gamelane_scenario::text::catalogue::{Catalogue, catalogue};
use gamelane_scenario::text::{Files, PresetInfo, known_applications, presets};
use gamelane_scenario::{Model, Scenario, ScenarioError};
use gamelane_sim::Run;
use serde::Serialize;

use crate::columns::{Array, arrays};
use crate::description::Description;
use crate::request::{Request, Written};

/// The run, files and columns of a page.
#[derive(Default)]
pub struct Session {
    run: Option<Run>,
    files: BTreeMap<String, Arc<[u8]>>,
    kept: Vec<u8>,
    columns: Vec<Array>,
}

#[derive(Serialize)]
struct Everything {
    presets: Vec<PresetInfo>,
    catalogue: Catalogue,
}

#[derive(Serialize)]
struct Analysis<'a> {
    /// The JSON of `gamelane analyze --json`.
    json: &'a str,
    /// What could not be read.
    problems: Vec<String>,
    /// The text of `gamelane analyze`.
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    text: String,
    /// `bold`, `dim` or nothing.
    style: &'static str,
}

/// Lines to paste for a target.
#[derive(Serialize)]
struct Lines<'a> {
    target: &'static str,
    /// What the lines leave out, or why there are none.
    unsaid: &'a [String],
    /// Empty if the target cannot express the setting.
    text: String,
}

impl<'a> Lines<'a> {
    fn of(recipe: &'a Recipe) -> Self {
        Self { target: recipe.target, unsaid: &recipe.unsaid, text: recipe.paste().join("\n") }
    }
}

impl Session {
    /// Answers a request in JSON.
    ///
    /// # Errors
    /// The text for a person: the request cannot be read, a scenario is refused, or something named does not exist.
    pub fn answer(&mut self, request: &[u8]) -> Result<String, String> {
        let request = serde_json::from_slice(request).map_err(|error| error.to_string())?;
        self.handle(request)
    }

    /// Keeps bytes until [`Request::Give`] names them.
    pub fn keep(&mut self, bytes: Vec<u8>) {
        self.kept = bytes;
    }

    /// Simulates the run until `until_ms`. Returns whether there is more.
    pub fn advance(&mut self, until_ms: u32) -> bool {
        self.run.as_mut().is_some_and(|run| run.advance(Duration::from_millis(until_ms.into())))
    }

    fn handle(&mut self, request: Request) -> Result<String, String> {
        Ok(match request {
            Request::Catalogue => json(&Everything { presets: presets(), catalogue: catalogue() }),
            Request::Give { name } => {
                self.files.insert(name, std::mem::take(&mut self.kept).into());
                json(&())
            }
            Request::Describe { scenario } => {
                let (scenario, model) = self.checked(&scenario)?;
                json(&Description::new(&scenario, &model))
            }
            Request::Start { scenario } => {
                let (scenario, model) = self.checked(&scenario)?;
                let description = json(&Description::new(&scenario, &model));
                self.run = Some(Run::new(model));
                description
            }
            Request::Recipes { scenario, today } => {
                let (scenario, _) = self.checked(&scenario)?;
                let today = today.map(|today| self.checked(&today)).transpose()?.map(|(today, _)| today);
                json(&recipes(&scenario, today.as_ref()).each_ref().map(Lines::of))
            }
            Request::Summary => json(&self.run()?.summary().ok_or("the run has not ended")?),
            Request::Table { table } => {
                let table = Table::named(&table).ok_or("no such table")?;
                self.columns = arrays(table, self.run()?.records().ok_or("the run has no records")?);
                json(&self.columns.iter().map(Array::place).collect::<Vec<_>>())
            }
            Request::Analyze { name, width } => self.analyze(&name, width)?,
        })
    }

    fn run(&self) -> Result<&Run, &'static str> {
        self.run.as_ref().ok_or("nothing runs")
    }

    /// Reads and checks a scenario. The files that it names are those that were given.
    fn checked(&self, written: &Written) -> Result<(Scenario, Model), String> {
        let read = || {
            let scenario = Scenario::parse(&written.text, &written.file, &written.overrides)?;
            let scenario = scenario.with_files(Files::Given(self.files.clone()));
            let model = scenario.to_model()?;
            scenario.check_simulated()?;
            Ok((scenario, model))
        };
        read().map_err(|refused: ScenarioError| refused.to_string())
    }

    fn analyze(&self, name: &str, width: usize) -> Result<String, String> {
        let bytes = self.files.get(name).ok_or("no such file was given")?;
        let choice = Choice { known: known_applications(), ..Choice::default() };
        let read = read_opened(name, [opened(name, bytes)], &choice, &mut ());
        let document = Document::new(vec![read.map_err(|error| error.to_string())?], None);
        let lines = document.lines(width, false).into_iter();
        let lines = lines.map(|line| Line { text: line.text, style: line.style.name() }).collect();
        let problems = document.problems().map(ToString::to_string).collect();
        Ok(json(&Analysis { json: &document.text(false), problems, lines }))
    }
}

fn opened(name: &str, bytes: &Arc<[u8]>) -> Result<Capture<Input>, CaptureError> {
    let io = |source| CaptureError::Io { path: name.into(), source };
    Capture::from_reader(Input::unpacked(Cursor::new(bytes.clone())).map_err(io)?, Path::new(name))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys of a reply are text, and numbers are finite or null")
}

#[cfg(test)]
mod tests {
    use gamelane_core::Seed;
    use gamelane_record::Records;
    use gamelane_scenario::Scenario;
    use gamelane_sim::Household;
    use serde_json::{Value, json};

    use super::*;

    const HOUSEHOLD: &str = include_str!("../../../scenarios/household.toml");

    fn ask(session: &mut Session, request: &Value) -> Value {
        let reply = session.answer(request.to_string().as_bytes()).unwrap();
        serde_json::from_str(&reply).unwrap()
    }

    fn start(session: &mut Session, text: &str, overrides: &Value) -> Value {
        let scenario = json!({"text": text, "file": "home.toml", "overrides": overrides});
        ask(session, &json!({"call": "start", "scenario": scenario}))
    }

    #[test]
    fn a_run_in_steps_has_the_summary_of_a_run_at_once() {
        let mut session = Session::default();
        let described = start(&mut session, HOUSEHOLD, &json!([["gateway.*.queue", "pie"]]));
        assert_eq!(described["keys"]["gateway"]["up"]["queue"], "pie");
        assert_eq!(described["flows"][0]["path_ms"]["down"], 20.0);
        assert!(session.answer(br#"{"call": "summary"}"#).is_err());
        let mut until_ms = 0;
        while session.advance(until_ms) {
            until_ms += 700;
        }
        let summary = session.answer(br#"{"call": "summary"}"#).unwrap();

        let overrides = [("gateway.*.queue".to_owned(), "pie".to_owned())];
        let model = Scenario::parse(HOUSEHOLD, "home.toml", &overrides).unwrap().to_model().unwrap();
        let outcome = Household::new(&model, Seed(1), Records::new(&model)).run();
        assert_eq!(summary, serde_json::to_string(&outcome.summary(&model, 1)).unwrap());
    }

    #[test]
    fn a_gateway_has_lines_for_each_target() {
        let scenario = |queue: &str| {
            let overrides = json!([["gateway.*.queue", queue], ["gateway.*.limit", "4MiB"]]);
            json!({"text": HOUSEHOLD, "file": "home.toml", "overrides": overrides})
        };
        let mut session = Session::default();
        let request = json!({"call": "recipes", "scenario": scenario("cake"), "today": scenario("fifo")});
        let found = ask(&mut session, &request);
        let line = |target: usize| found[target]["text"].as_str().unwrap();
        assert_eq!(found[0]["target"], "tc");
        assert!(line(0).contains("tc qdisc replace dev $WAN root handle 6a0: cake bandwidth 950000bit"));
        assert!(line(1).contains("uci set sqm.wan.qdisc='cake'"));
        assert!(line(2).contains("gamelane-gateway run"));
    }

    #[test]
    fn a_table_says_where_its_numbers_are() {
        let mut session = Session::default();
        start(&mut session, HOUSEHOLD, &json!([["duration", "5s"]]));
        session.advance(u32::MAX);
        let columns = ask(&mut session, &json!({"call": "table", "table": "drops"}));
        let named = |name: &str| columns.as_array().unwrap().iter().find(|column| column["name"] == name);
        assert_eq!(named("direction").unwrap()["words"], json!(["up", "down"]));
        assert_eq!(named("direction").unwrap()["kind"], "u8");
        assert_eq!(named("t_s").unwrap()["kind"], "f64");
        assert!(
            ask(&mut session, &json!({"call": "table", "table": "rtt"}))[0]["length"].as_u64() > Some(10)
        );
    }

    #[test]
    fn a_file_is_given_before_a_scenario_names_it() {
        let mut session = Session::default();
        let text = HOUSEHOLD.replace(
            "[link]\nkind = \"wired\"\ndown = \"12mbit\"",
            "[link]\nkind = \"trace\"\ntrace = { down = \"a.rate\" }",
        );
        let scenario = json!({"text": text, "file": "home.toml"});
        let request = json!({"call": "describe", "scenario": scenario}).to_string();
        assert_eq!(
            session.answer(request.as_bytes()).unwrap_err(),
            "`link.trace.down` in home.toml, line 9: the trace cannot be read: it was not given\n  \
             given:   \"a.rate\"\n  hint:    open the file a.rate, too"
        );
        session.keep(b"0 1000\n1000 end\n".into());
        ask(&mut session, &json!({"call": "give", "name": "a.rate"}));
        assert_eq!(
            ask(&mut session, &json!({"call": "describe", "scenario": scenario}))["name"],
            "household"
        );
    }

    #[test]
    fn a_capture_is_analysed_and_what_is_none_is_explained() {
        let mut session = Session::default();
        session.keep(include_bytes!("../../../scenarios/captures/openarena-4p-srv.pcapng").into());
        ask(&mut session, &json!({"call": "give", "name": "match.pcapng"}));
        let found = ask(&mut session, &json!({"call": "analyze", "name": "match.pcapng", "width": 60}));
        let document: Value = serde_json::from_str(found["json"].as_str().unwrap()).unwrap();
        assert!(!document["captures"][0]["flows"].as_array().unwrap().is_empty());
        assert!(
            found["lines"].as_array().unwrap().iter().all(|line| line["text"]
                .as_str()
                .unwrap()
                .chars()
                .count()
                <= 60)
        );
        session.keep(b"no capture".into());
        ask(&mut session, &json!({"call": "give", "name": "a.txt"}));
        let found = ask(&mut session, &json!({"call": "analyze", "name": "a.txt", "width": 60}));
        assert!(found["problems"][0].as_str().unwrap().contains("allowed: pcap and pcapng"), "{found}");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let mut session = Session::default();
        for request in
            ["", "{}", r#"{"call": "fly"}"#, r#"{"call": "table", "table": "rtt"}"#, r#"{"call": "summary"}"#]
        {
            assert!(session.answer(request.as_bytes()).is_err(), "{request}");
        }
        assert!(!session.advance(1));
    }
}
