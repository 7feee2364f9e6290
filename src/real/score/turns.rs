//! Several processes that wait for the lock have it one after the other: in which order?

use locklab_history::Name;

use super::Event;
use super::experiment::Turns;
use super::play::{Given, LONGEST, Play, Stopped, order};
use super::protocol::{Ended, Line, Word};

impl Play<'_> {
    /// Whoever is granted the lock releases it, until all have had it. Notes how often one got it before another that
    /// had asked earlier.
    pub(super) fn turns(&mut self, step: &Turns) -> Result<(), Stopped> {
        let is_meant =
            |given: &&mut Given| step.of.iter().any(|of| given.name.as_ref() == Some(of));
        let mut waiting: Vec<(Name, u32)> = Vec::new();
        for given in self.orders.iter_mut().filter(is_meant) {
            given.is_over = true;
            waiting.push((given.by.clone(), given.id));
        }
        let mut overtaken = 0;
        while !waiting.is_empty() {
            let of = |event: &Event| match event {
                Event::Said {
                    by,
                    line: Line::Answer(answer),
                    ..
                } => { waiting.iter() }.position(|(of, id)| of == by && *id == answer.id),
                _ => None,
            };
            let Some(event) = self.stage.find(LONGEST, |event| of(event).is_some()) else {
                self.facts.note(&step.turns, "r", "silent");
                return Ok(());
            };
            let place = of(&event).unwrap_or_default();
            if let Event::Said {
                line: Line::Answer(answer),
                ..
            } = &event
                && answer.r != Ended::Ok
            {
                self.facts.note(&step.turns, "r", answer.r.to_string());
                return Ok(());
            }
            overtaken += place;
            let (by, _) = waiting.remove(place);
            self.order(&order(Word::Unlock, &by))?;
        }
        self.facts.note(&step.turns, "r", "ok");
        self.facts.note(&step.turns, "overtaken", overtaken as f64);
        Ok(())
    }
}
