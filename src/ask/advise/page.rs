//! The answer as one page of text, and as JSON.

use locklab_lab::{Program, data as documents, layout};
use serde_json::{Value, json};

use super::answers::{Protects, Server};
use super::libraries::{Library, Wanted, libraries};
use super::rules::{Claim, Rule, Sheet};
use super::{Advise, Answered, EXTENDS};
use crate::risk::model::{Costs, Number, PROPERTIES, Term, Time, without_replica};
use crate::risk::sources;
use crate::risk::words::{cell, data, figures, how_often};

/// What is to be told.
pub(super) struct Page<'p> {
    pub advise: &'p Advise,
    pub rule: &'p Rule,
    /// What is advised, and its changes.
    pub cases: Vec<Answered<'p>>,
    pub costs: &'p Costs,
    pub program: &'p Program,
}

/// What happens when a property is violated, in a table.
const HAPPENS: [&str; 2] = ["two rely on it, a year", "corrupted, a year"];

impl Page<'_> {
    fn advised(&self) -> &Answered<'_> {
        &self.cases[0]
    }

    fn sheet(&self) -> anyhow::Result<&Sheet> {
        self.advise.rules.sheet(&self.rule.lock)
    }

    pub(super) fn text(&self) -> anyhow::Result<String> {
        let mut parts = vec![
            layout::fold(&format!("{}\n{}", self.rule.says, self.rule.why)),
            self.asked(),
            self.settings()?,
        ];
        let [survived, not] = self.claims()?;
        let survived = told("It survives, as `locklab run NAME` shows:", &survived);
        parts.push(format!(
            "{survived}\n{}",
            told("It does not survive:", &not)
        ));
        parts.push(self.rates());
        parts.push(self.changes());
        parts.push(self.cost());
        parts.push(self.told_libraries()?);
        parts.extend(self.told_today());
        if !self.rule.remains.is_empty() {
            let remains = self.rule.remains.iter().map(|it| format!("\n  - {it}"));
            let text = format!("What would be safe:{}", remains.collect::<String>());
            parts.push(layout::fold(&text));
        }
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("\n\n"))
    }

    /// What was asked. Nothing is told without it.
    fn asked(&self) -> String {
        let answers = &self.advise.answers;
        let protects = match (answers.protects, answers.tokens) {
            (Protects::Efficiency, _) => "efficiency",
            (Protects::Correctness, true) => "correctness; the resource compares tokens",
            (Protects::Correctness, false) => "correctness; the resource compares no tokens",
        };
        let named = |server: &Server| match server {
            Server::Redis => "one Redis",
            Server::Sentinel => "Redis with replicas and Sentinel",
            Server::Cluster => "Redis Cluster (here: a master with a replica)",
            Server::Nodes => "several independent Redis",
            Server::Database => "a database",
            Server::Consensus => "ZooKeeper, etcd or the like",
        };
        let servers: Vec<&str> = answers.servers.iter().map(named).collect();
        let [work, every, _] = &answers.written;
        let environment = &answers.environment;
        layout::fold(&format!(
            "Asked: {protects}; {}; work of {work}, once in {every}; {}: {}.",
            servers.join(", "),
            environment.name,
            environment.title,
        ))
    }

    /// The lock, its lease, and what a client does.
    fn settings(&self) -> anyhow::Result<String> {
        let setup = &self.advised().case.setup;
        let (sheet, term) = (self.sheet()?, setup.term()?);
        let prefix = EXTENDS;
        let renewed = setup.sets.iter().find_map(|set| set.strip_prefix(prefix));
        let renewed = match (term, renewed.and_then(|ms| ms.parse().ok())) {
            (Term::Lease, None) => "not renewed: the work fits into it".to_owned(),
            (Term::Lease, Some(ms)) => {
                let every = Time(ms);
                format!("renewed every {every}, by a script and only if it is still yours")
            }
            _ => "renewed by the client's pings, as long as it runs".to_owned(),
        };
        let lock = without_replica(&self.rule.lock);
        let mut rows = vec![
            ["take".to_owned(), format!("{} ({lock})", sheet.take)],
            ["release".to_owned(), sheet.release.clone()],
            [
                term.name().to_owned(),
                format!("{}, {renewed}", setup.lease),
            ],
        ];
        for (step, says) in self.advise.rules.steps(&setup.scenario()?.lock) {
            let (scenario, _) = &step.shown;
            rows.push([step.name.clone(), format!("{says} ({scenario})")]);
        }
        Ok(format!("How to use it:\n{}", layout::rows(&rows)))
    }

    /// What the lock survives, and what not.
    fn claims(&self) -> anyhow::Result<[Vec<Claim>; 2]> {
        let mut found = [vec![], vec![]];
        for claim in &self.sheet()?.claims {
            found[usize::from(!claim.holds()?)].push(claim.clone());
        }
        Ok(found)
    }

    /// The property that the answer is about: the resource, if it is ever corrupted.
    fn headline(&self) -> usize {
        usize::from(self.advised().years[1].mean > 0.0)
    }

    /// How often it fails, and through what.
    fn rates(&self) -> String {
        let advised = self.advised();
        let environment = &self.advise.answers.environment;
        let mut lines = vec![format!(
            "How often, in {} ({}):",
            environment.name,
            sources::summary(environment)
        )];
        let subjects = [
            "  two clients could rely on the lock",
            "  the resource is corrupted",
        ];
        for property in [1, 0] {
            let often = how_often(&advised.years[property]);
            lines.push(format!("{}: {often}", subjects[property]));
        }
        if let Some((cause, share)) = self.dominant() {
            lines.push(format!("  {share:.0} % of it comes from {cause}"));
        }
        let command = self.command(&self.risk(self.advised()));
        format!("{}\n    {command}", layout::fold(&lines.join("\n")))
    }

    /// The cause that brings most, and its share in percent.
    fn dominant(&self) -> Option<(String, f64)> {
        let (property, advised) = (self.headline(), self.advised());
        let whole = advised.by_cause.sum(property).mean;
        let shares = advised.by_cause.shares.iter();
        let shares = shares.map(|share| (share, share.per_grant(property).mean));
        let (most, mean) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let environment = &advised.case.setup.environment;
        let title = environment.cause.get(&most.cause).map(|it| &*it.title);
        let cause = match title {
            Some(title) => format!("{} ({title})", most.cause),
            None => "work that outlasts the lease".to_owned(),
        };
        (mean > 0.0).then(|| (cause, 100.0 * mean / whole))
    }

    /// What each change would bring.
    fn changes(&self) -> String {
        let head = ["", HAPPENS[1], HAPPENS[0], ""];
        let mut rows = vec![head.map(String::from)];
        for answered in &self.cases {
            let what = match answered.case.what.is_empty() {
                true => "as advised",
                false => &answered.case.what,
            };
            let [two, corrupted] = answered.years.map(|year| short(&year));
            rows.push([what.to_owned(), corrupted, two, self.difference(answered)]);
        }
        let mut text = format!(
            "What each change would bring, with what it is in the command:\n{}",
            layout::rows(&rows)
        );
        let mut cells = rows.iter().flat_map(|row| &row[1..3]);
        if cells.any(|cell| cell.contains(['≤', '~'])) {
            text += &layout::fold(
                "\n  ≤ cannot be excluded; ~ few violations: more --runs narrow both",
            );
        }
        text
    }

    /// What the command of a case has that the one of what is advised has not, and what it lacks.
    fn difference(&self, answered: &Answered<'_>) -> String {
        let [advised, own] = [self.advised(), answered].map(|it| self.risk_options(it));
        let lacks = { advised.iter() }.filter(|it| it[0] == "--set" && !own.contains(it));
        let lacks = lacks.map(|it| format!("no {}", it.join(" ")));
        let more = { own.iter() }.filter(|it| !advised.contains(it));
        let more = more.map(|it| it.join(" "));
        more.chain(lacks).collect::<Vec<_>>().join(" ")
    }

    /// What the lock costs.
    fn cost(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "–".into(), figures);
        let wait = self.costs.wait_ms.value().map(Time);
        let wait = wait.map_or_else(|| "–".into(), |wait| wait.to_string());
        let text = format!(
            "What it costs: {} messages for a grant and its release; {wait} from a holder's death to the next grant.",
            number(self.costs.messages.value()),
        );
        format!(
            "{}\n    {}",
            layout::fold(&text),
            self.command(&self.costing())
        )
    }

    /// Which libraries have such a lock.
    fn told_libraries(&self) -> anyhow::Result<String> {
        let Some((wanted, found)) = self.libraries()? else {
            return Ok(String::new());
        };
        let cells = wanted.cells().join(" ");
        let mut rows: Vec<[String; 2]> = Vec::new();
        for library in &found {
            if rows.iter().all(|row| row[0] != library.language) {
                let name = match library.bad.is_empty() {
                    true => format!("{} ✓", library.name),
                    false => format!("{}; not {}", library.name, library.bad.join(", ")),
                };
                rows.push([library.language.clone(), name]);
            }
        }
        let text = format!(
            "Libraries with such a lock, of {} in reports/scorecard those with the most ✓ in {cells}:",
            found.len()
        );
        Ok(format!("{}\n{}", layout::fold(&text), layout::rows(&rows)))
    }

    /// What such a lock has to have, and the libraries that have it; `None` where the lock is not on Redis.
    fn libraries(&self) -> anyhow::Result<Option<(Wanted, Vec<Library>)>> {
        let setup = &self.advised().case.setup;
        let lock = setup.scenario()?.lock;
        let extends = |set: &String| set.starts_with(EXTENDS);
        let wanted = Wanted {
            has_majority: lock.nodes() > 1,
            // A token of the resource needs no library.
            gives_tokens: lock.gives_tokens() && !lock.asks_resource(),
            is_renewed: setup.sets.iter().any(extends),
        };
        let is_on_redis = lock.servers() == locklab_locks::Servers::Redis;
        Ok(is_on_redis.then(|| (wanted, libraries(wanted))))
    }

    /// What is wrong about the lock of today, if there is one.
    fn told_today(&self) -> Option<String> {
        let today = self.advise.today.as_ref()?;
        let mut text = format!("Today: {}, lease {}.", today.lock, today.lease);
        if self.advise.mistakes.is_empty() {
            text += " No setting of it is a mistake that is known here.";
        }
        let mut text = layout::fold(&text);
        for mistake in &self.advise.mistakes {
            let reported = match mistake.reported {
                0 => String::new(),
                1 => " One bug like it was reported.".into(),
                count => format!(" {count} bugs like it were reported."),
            };
            let line = format!(
                "  {} Mended by: {}.{reported}",
                mistake.what, mistake.mended_by
            );
            text += &format!(
                "\n{}\n    {}",
                layout::fold(&line),
                self.command(&mistake.shown_by)
            );
        }
        Some(text)
    }

    /// The arguments of the command that makes the violations of a case again.
    fn risk(&self, answered: &Answered<'_>) -> Vec<String> {
        let mut words = asking(self.risk_options(answered));
        words.push("--quick".into());
        words
    }

    fn risk_options(&self, answered: &Answered<'_>) -> Vec<[String; 2]> {
        self.options(answered, "--lease", answered.case.runs)
    }

    /// The arguments of the command that makes the costs again.
    fn costing(&self) -> Vec<String> {
        asking(self.options(self.advised(), "--leases", self.advise.asked))
    }

    /// What `study risk` is asked: its lock, and each option with its value.
    fn options(&self, answered: &Answered<'_>, lease: &str, runs: u64) -> Vec<[String; 2]> {
        let setup = &answered.case.setup;
        let [work, every, environment] = self.advise.answers.written.clone();
        let sets = setup.sets.iter().map(|set| ("--set", set.clone()));
        let options = [
            ("risk", setup.lock.clone()),
            (lease, in_one_word(setup.lease)),
            ("--work", work),
            ("--every", every),
            ("--environment", environment),
            ("--runs", runs.to_string()),
        ];
        let options = options.into_iter().chain(sets);
        options
            .map(|(option, value)| [option.to_owned(), value])
            .collect()
    }

    fn command(&self, arguments: &[String]) -> String {
        self.program.line(arguments)
    }

    pub(super) fn json(&self) -> anyhow::Result<Value> {
        let answers = &self.advise.answers;
        let [work, every, environment] = &answers.written;
        let cases = self.cases.iter().map(|answered| {
            let years = PROPERTIES.iter().zip(&answered.years);
            let years = years.map(|(property, year)| (property.name().to_owned(), data(year)));
            json!({
                "change": answered.case.what,
                "lock": answered.case.setup.lock,
                "lease_ms": answered.case.setup.lease.0,
                "overrides": answered.case.setup.sets,
                "runs_per_cause": answered.case.runs,
                "per_year": Value::Object(years.collect()),
                "command": self.risk(answered),
            })
        });
        let told = |claims: &[Claim]| {
            let told = claims.iter().map(|Claim(scenario, property, what)| {
                json!({ "what": what, "property": property, "command": ["run", scenario] })
            });
            told.collect::<Vec<_>>()
        };
        let [survived, not] = self.claims()?;
        let sheet = self.sheet()?;
        let steps = self
            .advise
            .rules
            .steps(&self.advised().case.setup.scenario()?.lock);
        let steps = steps.into_iter().map(|(step, says)| {
            json!({ "when": step.name, "what": says, "command": ["run", step.shown.0] })
        });
        let dominant = self.dominant();
        let libraries = self.libraries()?;
        let cells = libraries.as_ref().map(|(wanted, _)| wanted.cells());
        let contents = json!({
            "asked": {
                "protects": answers.protects,
                "tokens": answers.tokens,
                "servers": answers.servers,
                "work": work,
                "every": every,
                "environment": environment,
            },
            "advice": self.rule.says,
            "why": self.rule.why,
            "remains": self.rule.remains,
            "lock": { "name": self.rule.lock, "take": sheet.take, "release": sheet.release },
            "steps": steps.collect::<Vec<_>>(),
            "survives": told(&survived),
            "does_not_survive": told(&not),
            "cases": cases.collect::<Vec<_>>(),
            "dominant": dominant.map(|(cause, percent)| json!({ "cause": cause, "percent": percent })),
            "cost": {
                "messages": self.costs.messages.value(),
                "wait_ms": self.costs.wait_ms.value(),
                "command": self.costing(),
            },
            "cells": cells,
            "libraries": libraries.map(|(_, found)| found),
            "mistakes": self.advise.mistakes,
        });
        Ok(documents::document("advise", contents))
    }
}

/// The arguments that ask this.
fn asking(options: Vec<[String; 2]>) -> Vec<String> {
    let words = options.into_iter().flatten();
    ["study".to_owned()].into_iter().chain(words).collect()
}

/// A number of a year in a narrow table: what was seen, as the sentences above say what cannot be excluded.
fn short(year: &Number) -> String {
    let seen = Number {
        first: 0.0,
        ..*year
    };
    match year.violated {
        0 => cell(year),
        _ => cell(&seen),
    }
}

/// A time as an option has it: `10s`.
fn in_one_word(time: Time) -> String {
    time.to_string().replace(' ', "")
}

/// A heading and a row for each claim.
fn told(heading: &str, claims: &[Claim]) -> String {
    let rows: Vec<[String; 2]> = claims
        .iter()
        .map(|Claim(scenario, _, what)| [what.clone(), scenario.clone()])
        .collect();
    format!("{heading}\n{}", layout::rows(&rows))
}
