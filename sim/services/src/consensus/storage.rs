//! A member's file: the records of its durable state, one after the other.

use bytes::{Bytes, BytesMut};

use super::raft::{Durable, Entry, Record};
use locklab_redis::resp::{command, next_words, number};

/// Records as bytes to append.
pub(super) fn save(records: &[Record]) -> Bytes {
    let mut out = BytesMut::new();
    for record in records {
        let text = |number: u64| number.to_string().into_bytes();
        let words = match record {
            Record::Term(term, vote) => {
                let vote = vote.map_or(b"-".to_vec(), |vote| text(vote as u64));
                vec![b"TERM".to_vec(), text(*term), vote]
            }
            Record::Entry(entry) => {
                vec![b"ENTRY".to_vec(), text(entry.term), entry.command.to_vec()]
            }
            Record::Cut(index) => vec![b"CUT".to_vec(), text(*index)],
        };
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        out.extend_from_slice(&command(&words));
    }
    out.freeze()
}

/// The state from the records of a file, up to the first incomplete record. As long as whole
/// writes are synced or lost, none is incomplete.
pub(super) fn load(file: &[u8]) -> Durable {
    let mut rest = BytesMut::from(file);
    let records = std::iter::from_fn(move || {
        let words = next_words(&mut rest).ok()??;
        record(&words)
    });
    Durable::replay(records)
}

fn record(words: &[Bytes]) -> Option<Record> {
    match words {
        [kind, term, vote] if kind == "TERM" => {
            let vote = number(vote).map(|vote| vote as usize);
            Some(Record::Term(number(term)?, vote))
        }
        [kind, term, command] if kind == "ENTRY" => Some(Record::Entry(Entry {
            term: number(term)?,
            command: command.clone(),
        })),
        [kind, index] if kind == "CUT" => Some(Record::Cut(number(index)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_file_equals_the_saved_state() {
        let entry = |term, command: &'static str| {
            let command = command.into();
            Record::Entry(Entry { term, command })
        };
        let records = [
            Record::Term(1, None),
            Record::Term(1, Some(2)),
            entry(1, "a"),
            entry(1, "b\r\n"),
            Record::Term(3, None),
            Record::Cut(2),
            entry(3, ""),
        ];
        let mut file = save(&records).to_vec();
        file.extend_from_slice(b"*3\r\n$5\r\nENTRY\r\n");
        let durable = load(&file);
        assert_eq!((durable.term(), durable.vote()), (3, None));
        let log: Vec<Entry> = (1..=2)
            .filter_map(|i| durable.log().get(i).cloned())
            .collect();
        let expected = [entry(1, "a"), entry(3, "")];
        assert_eq!(
            log.into_iter().map(Record::Entry).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(durable.log().last_index(), 2);
    }
}
